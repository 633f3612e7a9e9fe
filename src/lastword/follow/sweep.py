"""Finds rows whose record is no longer in the log, by reading the log once more.

A store below position P read every record that was in the log when it passed it. Records are
only ever removed from a log, so for each key the newest record below P that is still there is one
the store has seen; if the store's row is another one, the row is dead: its key was deleted, and
the tombstone was cleaned away before the store saw it. So a row is alive exactly if the record
at its offset is still in the log, and the pass needs offsets only: eight bytes a record, in
slices, whatever the size of keys and values.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from lastword.clock import Clock
from lastword.errors import LastwordError
from lastword.follow.rows import offset_of
from lastword.records import Batch
from lastword.stores.base import Store

log = logging.getLogger(__name__)

OFFSETS_PER_SLICE = 8_000_000
ROWS_PER_CHUNK = 10_000

Doomed = list[tuple[bytes, int]]
"""Keys and the offset of the record that is no longer in the log."""
ReadLog = Callable[[int, int, int], Iterator[Batch]]
"""(partition, start, end) -> the committed records in between."""


@dataclass(frozen=True, slots=True)
class SweepJob:
    """Sweep the rows below ``below``, the position at ``at_ms``; the log starts at ``log_start``.

    ``quarantined`` are the bad records that hold on to a key's last good row: when they are gone
    from the log, so is the key.
    """

    partition: int
    store: Store
    log_start: int
    below: int
    at_ms: int
    quarantined: Doomed


@dataclass(frozen=True, slots=True)
class SweepEnd:
    """How a pass went; ``failure`` is why it did not get to the end."""

    job: SweepJob
    duration_ms: int
    failure: LastwordError | None = None


class Sweeper:
    """A thread that works off sweeps one by one; it reads stores and never writes them."""

    def __init__(
        self,
        read_log: ReadLog,
        clock: Clock,
        on_doomed: Callable[[SweepJob, Doomed], None],
        on_end: Callable[[SweepEnd], None],
    ) -> None:
        self._read_log = read_log
        self._clock = clock
        self._on_doomed = on_doomed
        self._on_end = on_end
        self._jobs: queue.SimpleQueue[SweepJob | None] = queue.SimpleQueue()
        self.stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sweeper", daemon=True)

    def start(self) -> None:
        """Begin waiting for jobs."""
        self._thread.start()

    def submit(self, job: SweepJob) -> None:
        """Have a partition swept; ``on_end`` is called when it is done."""
        self._jobs.put(job)

    def stop(self) -> None:
        """Stop between two batches and wait for that."""
        self.stopping.set()
        self._jobs.put(None)
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None and not self.stopping.is_set():
            started = self._clock.monotonic()
            failure: LastwordError | None = None
            try:
                self._sweep(job)
            except LastwordError as error:
                failure = error
            if not self.stopping.is_set():
                duration_ms = int((self._clock.monotonic() - started) * 1000)
                self._on_end(SweepEnd(job, duration_ms, failure))

    def _sweep(self, job: SweepJob) -> None:
        lower = 0
        for upper, alive in self._slices(job):
            for chunk in chain([job.quarantined], _rows_of(job.store)):
                if self.stopping.is_set():
                    return
                if doomed := dead(chunk, alive, lower, upper):
                    self._on_doomed(job, doomed)
            lower = upper

    def _slices(self, job: SweepJob) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """The offsets that are in the log, in order, a slice of the offset range at a time."""
        pieces: list[NDArray[np.int64]] = []
        held = 0
        for batch in self._read_log(job.partition, job.log_start, job.below):
            pieces.append(np.array(batch.offsets, dtype=np.int64))
            held += len(batch)
            if held >= OFFSETS_PER_SLICE:
                yield batch.next_offset, np.concatenate(pieces)
                pieces, held = [], 0
        if self.stopping.is_set():
            return  # the log was not read to the end, so what is missing from it is not dead
        yield job.below, np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)


def dead(chunk: Doomed, alive: NDArray[np.int64], lower: int, upper: int) -> Doomed:
    """What of ``chunk`` has ``lower <= offset < upper`` and an offset not in ``alive`` (sorted)."""
    offsets = np.array([offset for _, offset in chunk], dtype=np.int64)
    inside = (offsets >= lower) & (offsets < upper)
    places = np.minimum(np.searchsorted(alive, offsets), max(len(alive) - 1, 0))
    found = alive[places] == offsets if len(alive) else np.zeros(len(chunk), dtype=bool)
    return [chunk[i] for i in np.flatnonzero(inside & ~found)]


def _rows_of(store: Store) -> Iterator[Doomed]:
    """Every (key, offset) of a store as of now, in chunks."""
    scan = store.scan()
    try:
        rows = ((key, offset_of(row)) for key, row in scan)
        while chunk := list(islice(rows, ROWS_PER_CHUNK)):
            yield chunk
    finally:
        scan.close()


def rows_below(store: Store, offset: int) -> Iterator[Doomed]:
    """Chunks of the rows whose record lies before ``offset``."""
    for chunk in _rows_of(store):
        below = [each for each in chunk if each[1] < offset]
        if below:
            yield below
