"""A table whose log ends in a transaction marker of a later leader continues from its checkpoint.

The checkpoint had the position behind the marker, but the leader epoch of the last record. To
the broker that is an epoch which ended before the position: a truncated log. The table was
rebuilt at every open.
"""

from __future__ import annotations

from pathlib import Path

from lastword.broker.embedded import EmbeddedBroker
from lastword.kafka.connection import Connection
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RAW, RealTopic
from tests.support.local_tables.tables import Tables


def test_tables_behind_the_marker_of_a_later_leader_are_not_rebuilt(
    own_broker: EmbeddedBroker, topic_name: str, tmp_path: Path
) -> None:
    connection = Connection(bootstrap_servers=own_broker.bootstrap_servers)
    committed = RealTopic(connection, f"{topic_name}-committed").create()
    aborted = RealTopic(connection, f"{topic_name}-aborted").create()
    writers = []
    for topic in (committed, aborted):
        topic.produce((b"a", b"1"))
        writers.append(topic.begin_transaction((b"b", b"2"), name=topic.name))
    own_broker.restart()  # which makes it the next leader, of a later epoch
    writers[0].commit_transaction(30)
    writers[1].abort_transaction(30)
    with Tables(connection, tmp_path) as tables:
        for topic in (committed, aborted):
            wait_until(lambda: topic.end() == 3, "the marker")  # noqa: B023 - called in this turn
            tables.open(topic.name, store="rocksdb", **RAW).close()
            again = tables.open(topic.name, store="rocksdb", **RAW)
            # A truncated log is noticed when the first fetch is answered, not at the opening.
            topic.produce((b"c", b"3"))
            wait_until(lambda: again.get(b"c") == b"3", "the log is read on")  # noqa: B023
            assert dict(again.items()) == topic.fold()
            rebuilt = [s.value for s in again.metrics.samples() if s.name == "rebuilds_total"]
            assert rebuilt == [0]
