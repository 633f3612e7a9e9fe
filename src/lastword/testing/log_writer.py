"""What the contract of a log source needs in order to write the logs that the source reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class NewRecord(NamedTuple):
    """A record to write. The name of a header may be bytes that are not UTF-8."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str | bytes, bytes | None]] = ()


class UndecidedTransaction(Protocol):
    """A transaction whose records are in the log, undecided."""

    def commit(self) -> None:
        """Make them visible; returns when the broker has confirmed it."""

    def abort(self) -> None:
        """Abort: the records never become visible."""


class LogWriter(Protocol):
    """Writes to one cluster, by another client than the source that is tested."""

    def append(self, topic: str, records: Sequence[NewRecord], *, partition: int = 0) -> None:
        """Append in order; returns when all of it is acknowledged."""

    def begin(self, topic: str, records: Sequence[NewRecord]) -> UndecidedTransaction:
        """Append to partition 0 in a new transaction, and leave it open."""
