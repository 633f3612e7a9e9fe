"""The protocol for reading logs: a source of batches, and the news between them.

A source is passed in, never made by its readers. So a native one can replace the Kafka client, and
a test can read a log of its own. ``lastword.testing`` has the contract suite of a source.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from lastword.records import Batch

QUEUE_BYTES = 32 << 20
"""How much a reader prefetches."""

STALL_TIMEOUT_S = 60.0

Ranges = Mapping[int, tuple[int, int]]
"""partition -> (start, end): the records with ``start <= offset < end``."""


@dataclass(frozen=True, slots=True)
class EndOfLog:
    """Everything below ``offset`` was returned, and there was no more at that moment.

    Under an open transaction ``offset`` is where that transaction starts, not the end of the log.
    ``leader_epoch`` is that of the last offset before, which may be the marker of a transaction;
    -1 where nothing was read.
    """

    partition: int
    offset: int
    leader_epoch: int = -1


@dataclass(frozen=True, slots=True)
class PositionLost:
    """The offset is gone (out of range, or the log was truncated); the partition is released."""

    partition: int
    reason: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The batch at ``offset`` is corrupt; the reader stays there and retries."""

    partition: int
    offset: int
    reason: str


News = Batch | EndOfLog | PositionLost | Unreadable


class LogReader(Protocol):
    """Reads partitions of one topic, which come and go. One thread uses it; any may close it.

    It returns only committed records, never resets an offset automatically, and validates the
    leader epoch when one is given, so that a truncated log is noticed.
    """

    def assign(self, partition: int, offset: int, leader_epoch: int = -1) -> None:
        """Start reading ``partition`` at ``offset``. Raises ValueError for a negative one."""

    def release(self, partition: int) -> None:
        """Stop reading ``partition``; nothing of it is returned afterwards."""

    def poll(self, timeout_s: float) -> list[News]:
        """Wait for news at most ``timeout_s``.

        A batch belongs to one partition. Batches of a partition are in offset order, and precede
        the events after them. Raises ConnectionFailedError if reading is refused, and RuntimeError
        if the reader is closed.
        """

    def close(self) -> None:
        """Stop reading and free everything after the current poll; idempotent."""


@runtime_checkable
class LogSource(Protocol):
    """The logs of one cluster. Safe to use from any thread; making one connects to nothing."""

    def follow(self, topic: str, *, queue_bytes: int = QUEUE_BYTES) -> LogReader:
        """A new reader of ``topic`` that follows what is assigned to it; the caller closes it."""

    def read(
        self,
        topic: str,
        ranges: Ranges,
        *,
        stall_timeout_s: float = STALL_TIMEOUT_S,
        stopping: Callable[[], bool] = lambda: False,
        queue_bytes: int = QUEUE_BYTES,
    ) -> Generator[Batch, None, None]:
        """Every committed record of ``ranges``, then stop. Closing the generator frees the reader.

        Raises ConnectionFailedError when nothing arrives for ``stall_timeout_s``, and
        TopicNotFoundError when an offset is gone. Ends early, within a second, once
        ``stopping`` returns True.
        """
