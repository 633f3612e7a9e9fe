"""A reader that is kept open for the next user."""

from __future__ import annotations

from lastword.kafka.log.source import LogReader, News


class LentReader:
    """Reads with ``reader``; closing it releases the partitions and leaves ``reader`` open."""

    def __init__(self, reader: LogReader) -> None:
        self._reader = reader
        self._assigned: set[int] = set()

    def assign(self, partition: int, offset: int, leader_epoch: int = -1) -> None:
        """Start reading ``partition`` at ``offset``."""
        self._reader.assign(partition, offset, leader_epoch)
        self._assigned.add(partition)

    def release(self, partition: int) -> None:
        """Stop reading ``partition``."""
        self._reader.release(partition)
        self._assigned.discard(partition)

    def poll(self, timeout_s: float) -> list[News]:
        """Poll the reader."""
        return self._reader.poll(timeout_s)

    def close(self) -> None:
        """Release what is assigned; idempotent."""
        for partition in sorted(self._assigned):
            self.release(partition)
