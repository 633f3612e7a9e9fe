"""Rows older than the log are dropped under any policy of the topic.

The start of the log was checked only while the policy was `compact,delete`. After that became
`compact`, rows that had expired before stayed for ever, and a restarted table differed.
"""

from __future__ import annotations

from tests.support.local_tables.real_topic import RAW, MakeTopic
from tests.support.local_tables.tables import Tables


def test_a_row_that_expired_before_the_policy_changed_is_gone(
    make_topic: MakeTopic, tables: Tables
) -> None:
    topic = make_topic(settings={"cleanup.policy": "compact,delete"})
    with tables.make(topic.name, store="rocksdb", allow_expiry=True, **RAW) as table:
        table.put_many({b"old": b"1", b"new": b"2"})
    topic.delete_records_before(1)
    topic.alter({"cleanup.policy": "compact"})
    table = tables.open(topic.name, store="rocksdb", **RAW)
    assert table.progress()[0].start == 2
    assert dict(table.items()) == {b"new": b"2"} == topic.fold()
