"""A table outlives its broker's restarts and crashes."""

from __future__ import annotations

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.kafka.connection import Connection
from lastword.table.table_state import TableState
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RAW, RealTopic
from tests.support.local_tables.tables import Tables
from tests.support.local_tables.watching import take


@pytest.mark.parametrize("crash", [False, True], ids=["restart", "crash"])
def test_a_live_table_continues_after_its_broker_was_down(
    own_broker: EmbeddedBroker, topic_name: str, tables: Tables, crash: bool
) -> None:
    connection = Connection(bootstrap_servers=own_broker.bootstrap_servers)
    topic = RealTopic(connection, topic_name).create(partitions=2)
    states: list[TableState] = []
    table = tables.open(
        topic_name,
        connection=connection,
        on_state=lambda _old, new: states.append(new),
        **RAW,
    )
    table.put_many({b"key-%d" % n: b"1" for n in range(20)})
    watch = table.watch()
    if crash:
        own_broker.kill()
        assert len(table) == 20
        own_broker.start()
    else:
        own_broker.restart()
    topic.produce(*((b"key-%d" % n, b"2") for n in range(10)))
    topic.produce((b"key-19", None))
    table.put(b"own", b"3")
    wait_until(lambda: dict(table.items()) == topic.fold(), "what was written meanwhile")
    changes = take(watch, 12)
    assert {change.key for change in changes} == {
        b"own",
        b"key-19",
        *(b"key-%d" % n for n in range(10)),
    }
    assert states == [TableState.RESTORING, TableState.RUNNING]
    wait_until(lambda: not table.query.count().stale, "an answer of the cluster")
