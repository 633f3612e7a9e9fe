"""Finds rows whose record is no longer in the log, by reading the log below a position again.

A store at position P has read every record that was in the log when it passed it, and records are
only ever removed. So a row below P whose record the pass does not find is superseded: by a
tombstone that was cleaned away before the store could read it, by a tombstone that the pass itself
reads (a new leader may not have cleaned its copy yet), or by a record beyond P, which the store has
not read yet. In the last case the key lives. So rows may be dropped only after the table has
reached an end of the log that was captured after the pass.

The pass needs only offsets: eight bytes per record, in slices, for any size of keys and values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeAlias

from lastword.lazy_numpy import np
from lastword.records import Batch
from lastword.rows import offset_of
from lastword.stores.base import Store

if TYPE_CHECKING:
    from numpy.typing import NDArray

OFFSETS_PER_SLICE = 8_000_000
ROWS_PER_CHUNK = 10_000

Doomed = list[tuple[bytes, int]]
"""Keys and the offset of the record that is no longer in the log."""
Offsets: TypeAlias = "NDArray[np.int64]"
"""Offsets in order. In one partition an offset names a row."""
ReadLog = Callable[[int, int, int], Iterator[Batch]]
"""(partition, start, end) -> the committed records in between."""


def no_offsets() -> Offsets:
    """None at all."""
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class SweepJob:
    """Find the dead rows below ``below``, the position of the store; the log is at ``log_start``.

    ``quarantined`` are the bad records that keep a key's last good row: when they are gone from the
    log, so is the key. A job whose log starts at ``below`` reads nothing and finds the rows that
    expired.
    """

    partition: int
    store: Store
    log_start: int
    below: int
    quarantined: Doomed


class SweepProgress:
    """How far a sweep has come: written by the thread that sweeps, read by any."""

    def __init__(self, job: SweepJob) -> None:
        self.start = self.position = job.log_start
        self.end = job.below
        self.rows = 0


def find_dead(
    job: SweepJob,
    read_log: ReadLog,
    progress: SweepProgress,
    stopping: Callable[[], bool] = lambda: False,
) -> Offsets:
    """The offsets of the rows that are not in the log any more; reads the store, never writes it.

    Once ``stopping`` is True, the result is meaningless.
    """
    dead: list[Offsets] = []
    lower = 0
    for upper, alive, deleted in _slices(job, read_log, progress):
        dead.append(deleted)
        for chunk in chain([job.quarantined], _rows_of(job.store)):
            if stopping():
                return no_offsets()
            dead.append(not_alive(chunk, alive, lower, upper))
            progress.rows += len(chunk)
        lower = upper
    return np.unique(np.concatenate(dead))


def doomed_rows(job: SweepJob, dead: Offsets, progress: SweepProgress) -> Iterator[Doomed]:
    """The rows, and the bad records, at the offsets that were found dead, in chunks."""
    for chunk in chain([job.quarantined], _rows_of(job.store)):
        progress.rows += len(chunk)
        hits = np.flatnonzero(_contained(_offsets_of(chunk), dead))
        if len(hits):
            yield [chunk[i] for i in hits]


def _slices(
    job: SweepJob, read_log: ReadLog, progress: SweepProgress
) -> Iterator[tuple[int, Offsets, Offsets]]:
    """(end of the slice, offsets in the log, offsets of rows that it deletes), in order."""
    pieces: list[Offsets] = []
    deleted: list[Offsets] = []
    held = 0
    for batch in read_log(job.partition, job.log_start, job.below):
        pieces.append(batch.offsets)
        deleted.append(_deleted_by(batch, job.store))
        held += len(batch)
        progress.position = batch.next_offset
        if held >= OFFSETS_PER_SLICE:
            yield batch.next_offset, np.concatenate(pieces), np.concatenate(deleted)
            pieces, deleted, held = [], [], 0
    progress.position = job.below
    yield (
        job.below,
        np.concatenate([no_offsets(), *pieces]),
        np.concatenate([no_offsets(), *deleted]),
    )


def _deleted_by(batch: Batch, store: Store) -> Offsets:
    """The offsets of rows that a tombstone of the batch is newer than."""
    tombstones = batch.tombstones()
    if not tombstones:
        return no_offsets()
    rows = store.get_many(list(tombstones))
    older = [
        offset_of(row)
        for row, deleted_at in zip(rows, tombstones.values(), strict=True)
        if row is not None and offset_of(row) < deleted_at
    ]
    return np.array(older, dtype=np.int64)


def not_alive(chunk: Doomed, alive: Offsets, lower: int, upper: int) -> Offsets:
    """The offsets of ``chunk`` with ``lower <= offset < upper`` that are not in ``alive``."""
    offsets = _offsets_of(chunk)
    inside = (offsets >= lower) & (offsets < upper)
    return offsets[inside & ~_contained(offsets, alive)]


def _offsets_of(chunk: Doomed) -> Offsets:
    return np.array([offset for _, offset in chunk], dtype=np.int64)


def _contained(offsets: Offsets, among: Offsets) -> NDArray[np.bool_]:
    """Which of ``offsets`` are in ``among``, which is sorted."""
    if not len(among):
        return np.zeros(len(offsets), dtype=bool)
    places = np.minimum(np.searchsorted(among, offsets), len(among) - 1)
    found: NDArray[np.bool_] = among[places] == offsets
    return found


def _rows_of(store: Store) -> Iterator[Doomed]:
    """Every (key, offset) of a store as of now, in chunks."""
    scan = store.scan()
    try:
        rows = ((key, offset_of(row)) for key, row in scan)
        while chunk := list(islice(rows, ROWS_PER_CHUNK)):
            yield chunk
    finally:
        scan.close()
