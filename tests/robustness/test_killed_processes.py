"""After a kill at any moment a store becomes equal to the log again (rules 2 and 4)."""

from __future__ import annotations

import random

import pytest

from lastword.clock import SYSTEM_CLOCK
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import EAGER_COMPACTION, MakeTopic, RealTopic
from tests.support.local_tables.table_process import STORES, TableProcesses
from tests.support.local_tables.tables import Tables

RECORDS = 40_000
TEXT = {"key": "string", "value": "string"}


def text(rows: dict[bytes, bytes]) -> dict[str, str]:
    return {key.decode(): value.decode() for key, value in rows.items()}


@pytest.mark.parametrize("store", STORES)
def test_a_process_killed_during_its_restore_again_and_again_restores_the_whole_log(
    topic: RealTopic, processes: TableProcesses, tables: Tables, store: str
) -> None:
    chance = random.Random(9)
    keys = [b"key-%d" % chance.randrange(RECORDS // 2) for _ in range(RECORDS)]
    values = [None if chance.random() < 0.1 else b"value-%d" % n for n in range(RECORDS)]
    topic.produce(*zip(keys, values, strict=True))
    starts: list[int] = []
    for kill in range(3):
        process = processes.start(topic.name, store=store)
        wanted = RECORDS * (kill + 1) // 4
        wait_until(
            lambda p=process, w=wanted: any(at >= w for at in p.said("restored")),
            "a restore under way",
            every=0.001,
        )
        process.kill()
        starts.append(process.said("restoring")[0][0])
    # Each went on from a checkpoint of the one before.
    assert starts[0] == 0 < starts[1] < starts[2] < RECORDS
    table = tables.open(topic.name, store=STORES[store], **TEXT)
    assert table.progress()[0].start > starts[2]
    assert dict(table.items()) == text(topic.fold())


def test_a_process_killed_while_it_writes_loses_no_acknowledged_write(
    make_topic: MakeTopic, processes: TableProcesses, tables: Tables
) -> None:
    topic = make_topic(partitions=3)
    for writes in (40, 170, 300):
        process = processes.start(topic.name, store="rocksdb")
        ready = process.wait_for("ready")
        assert ready == text(topic.fold())
        process.tell("write on")
        process.wait_for("acknowledged", writes)
        process.kill()
        acknowledged = dict(process.said("acknowledged"))
        folded = text(topic.fold())
        # One write may have been on its way: it follows the last acknowledged one.
        on_its_way = f"key-{len(process.said('acknowledged')) % 50}"
        for key, value in acknowledged.items():
            if key != on_its_way:
                assert folded.get(key) == value
    table = tables.open(topic.name, store="rocksdb", **TEXT)
    assert all(progress.start > 0 for progress in table.progress())
    assert dict(table.items()) == text(topic.fold())


def test_a_process_that_stood_still_for_longer_than_the_retention_is_swept(
    make_topic: MakeTopic, processes: TableProcesses
) -> None:
    topic = make_topic(settings=EAGER_COMPACTION | {"delete.retention.ms": "4000"})
    topic.produce((b"kept", b"1"), (b"deleted", b"2"))
    process = processes.start(topic.name)
    assert process.wait_for("ready") == {"kept": "1", "deleted": "2"}
    process.freeze()
    stopped = SYSTEM_CLOCK.monotonic()
    # A fetch that is under way is answered within a tenth of a second, with nothing.
    wait_until(lambda: SYSTEM_CLOCK.monotonic() > stopped + 0.5, "no fetch is waiting")
    topic.produce((b"deleted", None))
    topic.compact_away(b"deleted")
    process.go_on()
    # At once, or a minute after a sweep that a slow machine made necessary before.
    wait_until(lambda: process.ask("swept") == 1, "the dead row is dropped", timeout=180)
    wait_until(lambda: not process.ask("stale"), "trusted again", timeout=180)
    assert process.ask("rows") == text(topic.fold())
