"""An ordered walk over the rows of several partitions, as of one moment."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from types import TracebackType
from typing import Generic, TypeVar

from lastword.errors import LastwordError, StoreError
from lastword.records import Position
from lastword.replicas.sweep.soundness import Freshness
from lastword.rows import is_due
from lastword.stores.base import StoreScan

T = TypeVar("T")

Shape = Callable[[int, bytes, bytes], T | None]
"""(partition, key, row) -> what the reader wants of a row, or None to skip it."""

Explain = Callable[[int, StoreError], LastwordError]
"""(partition, error) -> the error to raise for one of that partition's store."""

ScannedRow = tuple[bytes, bytes, int]
"""(key, row, partition)"""


def _as_it_is(_partition: int, error: StoreError) -> LastwordError:
    return error


class Scan(Generic[T]):
    """Iterates in key order; closed by exhaustion, ``close`` or ``with``.

    ``position``, ``stale`` and ``contact_age_s`` describe what the scan sees; later writes do not
    change it. It covers the partitions that the position names. When one of them leaves this
    process, the scan raises PartitionNotHereError. Rows that have expired by ``now_ms`` are
    skipped. ``staleness_s`` and ``answered_by`` are as in an Answer, of the first pages.
    """

    def __init__(
        self,
        scans: Mapping[int, StoreScan],
        shape: Shape[T],
        *,
        reverse: bool,
        position: Position,
        freshness: Freshness,
        now_ms: int,
        explain: Explain = _as_it_is,
        staleness_s: float | None = None,
        answered_by: tuple[str, ...] = (),
    ) -> None:
        self.position = position
        self.staleness_s, self.answered_by = staleness_s, answered_by
        self.stale, self.contact_age_s = freshness
        self._scans = scans
        self._shape = shape
        self._now_ms = now_ms
        self._explain = explain
        self._rows = self._merged(reverse)

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        for key, row, partition in self._rows:
            if is_due(row, self._now_ms):
                continue
            shaped = self._shape(partition, key, row)
            if shaped is not None:
                return shaped
        self.close()
        raise StopIteration

    def __enter__(self) -> Scan[T]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free what the stores hold for this scan; idempotent."""
        self._rows = iter(())
        for scan in self._scans.values():
            scan.close()

    def _merged(self, reverse: bool) -> Iterator[ScannedRow]:
        streams = [self._with_partition(scan, p) for p, scan in self._scans.items()]
        if len(streams) == 1:
            return streams[0]
        return heapq.merge(*streams, key=itemgetter(0), reverse=reverse)

    def _with_partition(self, scan: StoreScan, partition: int) -> Iterator[ScannedRow]:
        try:
            for key, row in scan:
                yield key, row, partition
        except StoreError as error:
            raise self._explain(partition, error) from error
