"""A sweep before the first read counts as progress, and is shown.

Only records of the restore counted: on an idle topic, where nothing else moves, a first sweep of
more than two minutes ended in NotReadyError at every open.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from lastword.column_batch import ColumnBatch
from lastword.errors import NotReadyError
from lastword.kafka.log import kafka_log
from lastword.kafka.log.ranges import read_ranges
from lastword.records import Batch
from lastword.replicas.progress import RestoreProgress
from tests.support.local_tables.real_topic import RAW, MakeTopic
from tests.support.local_tables.tables import Tables
from tests.support.shifted_clock import ShiftedClock

RECORDS = 5
STALL_S = 1_000.0


class Held:
    """Hands a pass over the log one record for each permit, however they were fetched."""

    def __init__(self) -> None:
        self.permits = threading.Semaphore(0)

    def read(self, *args: Any, **options: Any) -> Iterator[Batch]:
        for batch in read_ranges(*args, **options):
            for record in batch.records():
                assert self.permits.acquire(timeout=180)
                yield ColumnBatch(
                    partition=record.partition,
                    keys=[record.key],
                    values=[record.value],
                    offsets=[record.offset],
                    timestamps=[record.timestamp_ms],
                    headers=[record.headers],
                    next_offset=record.offset + 1,
                )


def test_a_sweep_longer_than_the_deadline_counts_as_movement_and_is_shown(
    make_topic: MakeTopic, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic(settings={"delete.retention.ms": "100"})
    topic.produce(*((b"key-%d" % n, b"1") for n in range(RECORDS)))
    with tables.make(topic.name, store="rocksdb", **RAW):
        pass
    held, clock = Held(), ShiftedClock()
    monkeypatch.setattr(kafka_log, "read_ranges", held.read)
    table = tables.make(topic.name, store="rocksdb", clock=clock, **RAW)
    table.start()
    seen: list[int] = [-1]

    def on_progress(progress: list[RestoreProgress]) -> None:
        (only,) = progress
        if only.sweep_offsets and only.swept_offsets > seen[-1]:
            seen.append(only.swept_offsets)
            assert only.sweep_offsets == RECORDS
            with pytest.raises(NotReadyError, match=f"{RECORDS - seen[-1]} are to be swept"):
                table.get(b"key-0")
            clock.shift_s += 0.6 * STALL_S
            held.permits.release()

    table.wait_ready(STALL_S, on_progress=on_progress)
    assert seen == [-1, *range(RECORDS)]
    assert len(table) == RECORDS


def test_a_stalled_sweep_is_named_as_the_reason(
    make_topic: MakeTopic, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic(settings={"delete.retention.ms": "100"})
    topic.produce(*((b"key-%d" % n, b"1") for n in range(RECORDS)))
    with tables.make(topic.name, store="rocksdb", **RAW):
        pass
    held = Held()
    monkeypatch.setattr(kafka_log, "read_ranges", held.read)
    table = tables.make(topic.name, store="rocksdb", **RAW)
    table.start()
    with pytest.raises(NotReadyError, match="the sweep of partition 0 has read 0 of 5 offsets"):
        table.wait_ready(2.0)
    held.permits.release(RECORDS)
    table.wait_ready()
