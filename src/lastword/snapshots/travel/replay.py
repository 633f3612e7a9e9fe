"""One partition of a past state: rows of a snapshot, and the changes after it up to a cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lastword.records import Batch
from lastword.replicas.apply.record_filter import RecordFilter


class LostChangesError(Exception):
    """Missing offsets may be removed changes; this error stays in this package."""


@dataclass(frozen=True)
class ReplayEnd:
    """Where to stop: at ``ceiling``, or before the first record with a later time than ``time_ms``.

    Records below ``floor`` existed at that time, regardless of their timestamps.
    """

    ceiling: int
    floor: int = 0
    time_ms: int | None = None


@dataclass
class PastReplay:
    """Applies changes in offset order, range by range, and refuses to miss any.

    ``rows`` are as stores keep them, and those at the offset ``at``; ``from_start`` says that they
    began with an empty table and not with a snapshot. ``relied`` says that the stretch begun last,
    at ``began_at``, had gaps and was trusted.
    """

    record_filter: RecordFilter
    cut: ReplayEnd
    at: int = 0
    rows: dict[bytes, bytes] = field(default_factory=dict)
    from_start: bool = True
    done: bool = field(init=False)
    size_bytes: int = field(init=False)
    relied: bool = field(default=False, init=False)
    began_at: int = field(default=0, init=False)
    _trusted: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.done = self.at >= self.cut.ceiling
        self.size_bytes = _size(self.rows)

    def begin(self, *, trusted: bool) -> None:
        """What comes now is ``trusted`` to be whole, or must have every offset to be so."""
        self._trusted = trusted
        self.began_at = self.at
        self.relied = False

    def add(self, batch: Batch) -> None:
        """Apply what lies before the cut."""
        if self.done:
            return
        count = self._before_the_cut(batch)
        end = batch.next_offset
        if count < len(batch):
            self.done = True
            end = min(int(batch.offsets[count]), self.cut.ceiling)
            batch = batch.first(count, end)
        self._account(count, end)
        if count:
            filtered = self.record_filter.filtered(batch)
            for key in filtered.deletes:
                self.size_bytes -= len(key) + len(row) if (row := self.rows.pop(key, None)) else 0
            replaced = {key: self.rows[key] for key in filtered.puts.keys() & self.rows.keys()}
            self.size_bytes += _size(filtered.puts) - _size(replaced)
            self.rows.update(filtered.puts)

    def end(self, offset: int) -> None:
        """Everything below ``offset`` was applied."""
        if not self.done:
            self._account(0, max(self.at, offset))
            self.done = self.at >= self.cut.ceiling

    def _account(self, records: int, end: int) -> None:
        if records != end - self.at:
            if not self._trusted:
                raise LostChangesError(f"offsets are missing between {self.at} and {end}")
            self.relied = True
        self.at = end

    def _before_the_cut(self, batch: Batch) -> int:
        """How many records of the batch are."""
        cut, time_ms = self.cut, self.cut.time_ms
        if time_ms is None and batch.next_offset <= cut.ceiling:
            return len(batch)
        behind = batch.offsets >= cut.ceiling
        if time_ms is not None:
            behind |= (batch.offsets >= cut.floor) & (batch.timestamps > time_ms)
        return int(behind.argmax()) if behind.any() else len(batch)


def _size(rows: Mapping[bytes, bytes]) -> int:
    return sum(map(len, rows)) + sum(map(len, rows.values()))
