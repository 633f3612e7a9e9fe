"""A table is complete or says that it is not, whichever broker hangs or dies, and when.

For a partition whose leader hangs or is gone, librdkafka answers -1001 without an error when it
is asked where the log ends. Tables took it for the end of the log: they cleared intact stores,
began to read at -1001, which means "at the committed offset of the group", and were ready.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.errors import ConnectionFailedError
from lastword.table.table import Table
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RAW, RealTopic
from tests.support.local_tables.stores import GatedStore
from tests.support.local_tables.tables import Tables
from tests.support.network.harmed_cluster import Harm, HarmedCluster

# `make soak` asks for more; each takes some twenty seconds.
ROUNDS = int(os.environ.get("LASTWORD_TEST_KILLS", "1"))
PARTITIONS = 3
KEYS = [b"key-%d" % n for n in range(300)]


class Restoring:
    """A table that has read one record when its broker is harmed."""

    def __init__(self, tables: Tables, topic: str, name: str) -> None:
        self.store = GatedStore()
        self.table = tables.make(topic, name=name, store=self.store, **RAW)
        self.table.start()
        assert self.store.waiting.wait(180)

    def go_on(self) -> None:
        """After looks at the log that nobody leads."""
        looks = self.table._lifecycle.parts.replicas._following.inbox
        before = len(looks)
        wait_until(lambda: len(looks) > before + 1, "looks at a silent leader")
        self.store.gate.set()


def rebuilds(table: Table) -> float:
    return sum(each.value for each in table.metrics.samples() if each.name == "rebuilds_total")


@pytest.mark.parametrize("harm", ["hung", "killed"])
def test_tables_are_complete_or_not_ready_while_a_broker_is(
    harm: Harm, cluster: EmbeddedBroker, topic_name: str, tmp_path: Path, trickling: None
) -> None:
    brokers = HarmedCluster(cluster)
    connection = brokers.connection
    # With one replica nobody takes over: the leader stays silent for as long as the test wants.
    opened = RealTopic(connection, f"{topic_name}-opened").create(PARTITIONS)
    restored = RealTopic(connection, f"{topic_name}-restored").create()
    followed = RealTopic(connection, f"{topic_name}-followed").create(PARTITIONS, replication=3)
    first = dict.fromkeys(KEYS, b"first")
    for topic in (opened, followed):
        topic.produce(*first.items())
    few = dict.fromkeys(KEYS[:20], b"first")
    for row in few.items():
        restored.produce(row)  # each is a batch of its own: a reader fetches one at a time
    with Tables(connection, tmp_path) as tables:
        live = tables.open(followed.name, **RAW)
        tables.open(opened.name, store="rocksdb", **RAW).close()
        for round_ in range(ROUNDS):
            restoring = Restoring(tables, restored.name, f"restoring-{round_}")
            victim = brokers.leader(restored.name)
            led = [p for p in range(PARTITIONS) if brokers.leader(followed.name, p) is victim]
            with brokers.harmed(victim, harm, (opened.name, restored.name, followed.name)):
                table = tables.make(opened.name, store="rocksdb", **RAW)
                with pytest.raises(ConnectionFailedError), table:
                    pass
                restoring.go_on()
                for partition in led:
                    brokers.wait_until_led_by_another(followed.name, partition, victim)
                rows = dict.fromkeys(KEYS, b"round %d" % round_)
                RealTopic(connection, followed.name).produce(*rows.items())
                wait_until(
                    lambda: dict(live.items()) == rows,  # noqa: B023 - called in this round only
                    "what the next leaders have",
                )
            restoring.table.wait_ready()
            assert dict(restoring.table.items()) == few
            restoring.table.close()
            healed = tables.open(opened.name, store="rocksdb", **RAW)
            assert dict(healed.items()) == first
            assert rebuilds(healed) == 0
            healed.close()
            assert rebuilds(live) == PARTITIONS  # the first time each was restored
