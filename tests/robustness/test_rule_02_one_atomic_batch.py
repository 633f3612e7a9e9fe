"""Rule 2: rows and checkpoint are one atomic batch, and the checkpoint says of which log it is.

That the batch is atomic on disk is shown by killed processes: test_killed_processes.py.
"""

from __future__ import annotations

import pytest

from lastword.clock import SYSTEM_CLOCK
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.replicas.apply.checkpoint import CHECKPOINT_FORMAT, decode_checkpoint
from lastword.replicas.tail import housekeeping
from lastword.rows import ROW_FORMAT, offset_of
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RAW, MakeTopic, RealTopic
from tests.support.local_tables.stores import RecordingStore
from tests.support.local_tables.tables import Tables


def test_no_batch_has_a_row_that_its_checkpoint_does_not_cover(
    topic: RealTopic, tables: Tables
) -> None:
    topic.produce(*((b"key-%d" % n, b"value") for n in range(500)))
    store = RecordingStore()
    table = tables.open(topic.name, store=store, **RAW)
    for n in range(20):
        table.put(b"key-%d" % n, b"new")
    seen = 0
    for puts, _, checkpoint in store.applied:
        offsets = [offset_of(row) for row in puts.values()]
        assert all(offset < checkpoint.next_offset for offset in offsets)
        # What a checkpoint passes over, an earlier or this very batch has brought.
        assert checkpoint.next_offset >= seen
        assert checkpoint.next_offset <= max([seen - 1, *offsets]) + 1
        seen = checkpoint.next_offset
    assert seen == 520


def test_the_checkpoint_names_cluster_topic_partitions_place_epoch_time_and_retention(
    make_topic: MakeTopic, tables: Tables, connection: Connection
) -> None:
    topic = make_topic(settings={"delete.retention.ms": "123456"})
    store = RecordingStore()
    before_ms = SYSTEM_CLOCK.now_ms()
    table = tables.open(topic.name, store=store, **RAW)
    table.put(b"key", b"value")
    _, _, checkpoint = store.applied[-1]
    with Admin(connection) as admin:
        assert checkpoint.cluster_id == admin.cluster_id()
        assert checkpoint.topic_id == admin.describe(topic.name).topic_id
    assert (checkpoint.partitions, checkpoint.next_offset, checkpoint.leader_epoch) == (1, 1, 0)
    assert checkpoint.delete_retention_ms == 123_456
    assert before_ms <= checkpoint.caught_up_at_ms <= SYSTEM_CLOCK.now_ms()
    assert checkpoint.checkpoint_format == CHECKPOINT_FORMAT
    assert checkpoint.row_format == ROW_FORMAT


def test_an_idle_table_keeps_refreshing_the_time_in_its_checkpoint(
    topic: RealTopic, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(housekeeping, "HOUSEKEEPING_S", 0.1)
    table = tables.open(topic.name, store="rocksdb", **RAW)
    table.put(b"key", b"value")
    store = table._lifecycle.parts.replicas.at(0).store

    def caught_up_at_ms() -> int:
        checkpoint = decode_checkpoint(store.checkpoint())
        return 0 if checkpoint is None else checkpoint.caught_up_at_ms

    opened_ms = caught_up_at_ms()
    wait_until(lambda: caught_up_at_ms() > opened_ms, "a younger checkpoint, without any write")
