"""What a mirror remembers beside its rows: how far it is in the source, and which snapshot."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from lastword.cdc.change import RowChange, Snapshot
from lastword.pipelines.operators.state_view import StateView
from lastword.records import Headers

SOURCE_HEADER = "lastword-source"
"""On every record of a table, for its last change: ``generation:commit/change:transaction``."""

_KEY = b"marks"


class Moved(msgspec.Struct):
    """The row of the last delete: where it is a changed primary key, the new row needs it."""

    commit: int
    change: int
    row: bytes | None


class Marks(msgspec.Struct):
    """One per partition of a mirror.

    generation     how many snapshots have begun; each row has that of its last change
    snapshot       the position of the snapshot that is being read; None while changes stream
    commit, change the position of the last change
    log            the log that has this position
    moved          set while the last change is a delete
    """

    generation: int = 0
    snapshot: int | None = None
    commit: int = 0
    change: int = 0
    log: str = ""
    moved: Moved | None = None

    def enters(self, change: RowChange) -> None:
        """A row of a snapshot: the first one of each begins a generation.

        A snapshot is where a mirror starts over, even if the source's positions went back,
        because it was restored from a backup.
        """
        at = 0 if change.position is None else change.position.change
        if self.snapshot != at:
            self.generation += 1
            self.snapshot = at
            self.commit, self.change = at, 0
            self.log = "" if change.position is None else change.position.log

    def passes(self, change: RowChange) -> bool:
        """Move on to a change; False for one that was passed before and comes again, late.

        Changes with one position are those of one statement: none of them is late because of
        another.
        """
        if change.position is None or change.snapshot is not Snapshot.NO:
            return True
        if change.position.log != self.log:
            self.commit, self.change, self.log = 0, 0, change.position.log
        # A connector that has seen no commit yet goes on where the snapshot was taken.
        commit = self.commit if change.position.commit is None else change.position.commit
        if (commit, change.position.change) < (self.commit, self.change):
            return False
        self.commit, self.change = commit, change.position.change
        return True

    def source(self, change: RowChange) -> bytes:
        """What the header of a row has of the change that made it."""
        text = f"{self.generation}:{self.commit}/{self.change}:{change.transaction or ''}"
        return text.encode()

    def deleted(self, row: bytes | None) -> None:
        """Keep the row of a delete until the next change."""
        self.moved = Moved(self.commit, self.change, row)

    def moved_here(self) -> bytes | None:
        """The row that the last delete took away, if it has the position of this change."""
        moved = self.moved
        if moved is None or (moved.commit, moved.change) != (self.commit, self.change):
            return None
        return moved.row


def generation_of(headers: Headers) -> int | None:
    """The generation in a row's headers; None where they do not say."""
    for name, value in headers:
        if name == SOURCE_HEADER and value is not None:
            return int(value.partition(b":")[0])
    return None


def left_behind(rows: Iterable[tuple[bytes, Headers]], generation: int) -> list[bytes]:
    """The keys that the snapshot of this generation did not find."""
    return [key for key, headers in rows if generation_of(headers) != generation]


def read_marks(state: StateView) -> Marks:
    """Those of the last batch; new ones before the first."""
    (data,) = state.get_many([_KEY])
    return Marks() if data is None else msgspec.json.decode(data, type=Marks)


def write_marks(state: StateView, marks: Marks, timestamp_ms: int) -> None:
    """Keep them for the next batch."""
    # JSON: positions of SQL Server have 80 bits, more than MessagePack's numbers.
    state.put(_KEY, msgspec.json.encode(marks), timestamp_ms)
