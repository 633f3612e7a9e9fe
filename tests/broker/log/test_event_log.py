"""Events are appended in order, kept, and refused where they would not be kept."""

from __future__ import annotations

import pytest

from lastword import EventLog
from lastword.errors import InvalidRecordError, TopicNotFoundError, TopicUnfitError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.keyspace import Keyspace
from tests.support.local_tables.tables import read_raw


def test_events_of_a_key_stay_in_order_in_the_partition_of_kafkas_own_clients(
    connection: Connection, admin: Admin, topic_name: str
) -> None:
    with EventLog(topic_name, connection=connection) as log:
        log.create(partitions=3)
        first = log.append("ann", {"n": 0}, headers=(("trace", b"1"),), timestamp_ms=7)
        rest = log.append_many((f"user-{n % 5}", {"n": n}) for n in range(1, 40))
        last = log.append("ann", {"n": 40})
    assert first.partition == last.partition == Keyspace(3).partition_of(b"ann")
    assert last.offset > first.offset
    assert len(rest) == 39
    records = read_raw(connection, topic_name)
    assert len(records) == 41
    of_ann = [record for record in records if record.key == b"ann"]
    assert [record.value for record in of_ann] == [b'{"n":0}', b'{"n":40}']
    assert (of_ann[0].headers, of_ann[0].timestamp_ms) == ((("trace", b"1"),), 7)
    settings = admin.settings(topic_name)
    assert (settings["cleanup.policy"], settings["retention.ms"]) == ("delete", "-1")


def test_events_are_not_put_where_compaction_would_delete_them(
    connection: Connection, admin: Admin, topic_name: str
) -> None:
    admin.create(topic_name, partitions=1, replication=1, settings={"cleanup.policy": "compact"})
    with (
        EventLog(topic_name, connection=connection) as log,
        pytest.raises(TopicUnfitError, match="only the last event of each key would stay"),
    ):
        log.append("ann", {})


def test_a_failed_append_is_reported(connection: Connection, topic_name: str) -> None:
    with EventLog(topic_name, connection=connection) as log:
        with pytest.raises(TopicNotFoundError):
            log.append("ann", {})
        log.create(partitions=1)
        with pytest.raises(InvalidRecordError, match="key") as caught:
            log.append_many([("ann", {}), ("", {})])
        assert "event 2 of 2" in str(caught.value.__notes__)
