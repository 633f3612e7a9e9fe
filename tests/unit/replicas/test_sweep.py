"""Rows whose record is gone from the log are found, and no others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.column_batch import ColumnBatch
from lastword.records import Batch
from lastword.replicas.sweep import dead_rows as sweep
from lastword.replicas.sweep.dead_rows import (
    Doomed,
    SweepJob,
    SweepProgress,
    doomed_rows,
    find_dead,
    not_alive,
)
from lastword.rows import encode_row
from lastword.stores.memory import MemoryStore

Log = dict[int, tuple[bytes, bytes | None]]
"""offset -> key and value, as a compacted log: with holes."""


def store_of(rows: dict[bytes, int]) -> MemoryStore:
    """A store with these keys, each from the record at the given offset."""
    store = MemoryStore()
    store.open()
    puts = {key: encode_row(offset, 0, None, b"value") for key, offset in rows.items()}
    store.apply(puts, (), b"checkpoint")
    return store


def job_for(store: MemoryStore, below: int, quarantined: Doomed | None = None) -> SweepJob:
    return SweepJob(0, store, 0, below, quarantined or [])


def reading(log: Log, batch_size: int = 2) -> sweep.ReadLog:
    """Hands out the log's records in small batches, as the real reader does."""

    def read(partition: int, start: int, end: int) -> Iterator[Batch]:
        inside = [(o, *log[o]) for o in sorted(log) if start <= o < end]
        for first in range(0, len(inside), batch_size):
            piece = inside[first : first + batch_size]
            offsets = [offset for offset, _, _ in piece]
            keys, values = [k for _, k, _ in piece], [v for _, _, v in piece]
            yield ColumnBatch(
                partition=partition,
                keys=keys,
                values=values,
                offsets=offsets,
                timestamps=offsets,
                headers=[None] * len(piece),
                next_offset=offsets[-1] + 1,
            )

    return read


def run_sweep(job: SweepJob, read: sweep.ReadLog) -> Doomed:
    """One whole pass: the rows it found dead."""
    progress = SweepProgress(job)
    dead = find_dead(job, read, progress)
    assert progress.position == progress.end
    return [each for chunk in doomed_rows(job, dead, progress) for each in chunk]


def test_a_row_whose_record_is_gone_is_dead() -> None:
    store = store_of({b"gone": 3, b"here": 5})
    found = run_sweep(job_for(store, 10), reading({5: (b"here", b"v"), 8: (b"x", None)}))
    assert found == [(b"gone", 3)]


def test_rows_from_the_position_on_are_left_to_the_live_tail() -> None:
    store = store_of({b"below": 9, b"at": 10, b"above": 11})
    found = run_sweep(job_for(store, 10), reading({}))
    assert found == [(b"below", 9)]


def test_a_pass_never_writes_the_store() -> None:
    store = store_of({b"gone": 3})
    run_sweep(job_for(store, 10), reading({}))
    assert store.count() == 1
    assert store.checkpoint() == b"checkpoint"


def test_quarantined_records_are_looked_for_as_well() -> None:
    store = store_of({})
    job = job_for(store, 10, [(b"still-bad", 4), (b"bad-and-gone", 6)])
    found = run_sweep(job, reading({4: (b"still-bad", b"!")}))
    assert found == [(b"bad-and-gone", 6)]


def test_a_log_too_long_for_one_slice_is_swept_in_several(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sweep, "OFFSETS_PER_SLICE", 3)
    monkeypatch.setattr(sweep, "ROWS_PER_CHUNK", 2)
    log: Log = {offset: (b"k%02d" % offset, b"v") for offset in range(0, 40, 2)}
    store = store_of({b"k%02d" % offset: offset for offset in range(40)})
    found = run_sweep(job_for(store, 40), reading(log))
    assert sorted(found) == [(b"k%02d" % offset, offset) for offset in range(1, 40, 2)]


def test_a_job_whose_log_starts_at_its_end_finds_the_rows_that_expired() -> None:
    store = store_of({b"a": 1, b"b": 5, b"c": 9})
    assert run_sweep(SweepJob(0, store, 5, 5, []), reading({})) == [(b"a", 1)]


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)), st.integers(0, 30))
def test_dead_is_what_lies_inside_and_is_not_alive(
    alive: set[int], rows: set[int], lower: int
) -> None:
    upper = lower + 10
    chunk = [(b"%d" % offset, offset) for offset in sorted(rows)]
    found = not_alive(chunk, np.array(sorted(alive), dtype=np.int64), lower, upper)
    assert set(found.tolist()) == {offset for offset in rows - alive if lower <= offset < upper}


# -- the argument the sweep rests on, tried on many logs ---------------------------------------


def compacted(log: Log, *, below: int, keep_tombstones: bool) -> Log:
    """What Kafka's cleaner leaves of the offsets below ``below``."""
    last = {key: offset for offset, (key, _) in sorted(log.items()) if offset < below}
    return {
        offset: (key, value)
        for offset, (key, value) in log.items()
        if offset >= below or (last[key] == offset and (keep_tombstones or value is not None))
    }


def fold(log: Log, rows: dict[bytes, int], start: int, end: int) -> None:
    """Apply the records in between to ``rows``, as a follower does."""
    for offset in sorted(o for o in log if start <= o < end):
        key, value = log[offset]
        rows.pop(key, None)
        if value is not None:
            rows[key] = offset


@given(
    st.lists(st.tuples(st.sampled_from([b"a", b"b", b"c"]), st.booleans()), max_size=25),
    st.integers(0, 25),
    st.integers(0, 25),
)
def test_a_store_that_missed_tombstones_equals_the_log_after_a_sweep(
    writes: list[tuple[bytes, bool]], stopped_at: int, cleaned_below: int
) -> None:
    log: Log = {i: (key, b"v" if put else None) for i, (key, put) in enumerate(writes)}
    rows: dict[bytes, int] = {}
    fold(log, rows, 0, stopped_at)
    # While the follower is away, the cleaner runs and every tombstone it may remove expires.
    log = compacted(log, below=cleaned_below, keep_tombstones=False)
    fold(log, rows, stopped_at, len(writes))
    found = run_sweep(job_for(store_of(rows), len(writes)), reading(log))
    for key, offset in found:
        assert rows.pop(key) == offset
    expected: dict[bytes, int] = {}
    fold(log, expected, 0, len(writes))
    assert rows == expected
