"""Writes that were acknowledged to this process, and that its own copy may not have applied yet.

A write that an owner decides is answered after its acknowledgement. It does not wait until the
copy here has read it back from the log; the next read of its partition waits for that instead.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import NamedTuple

from lastword.clock import Clock
from lastword.records import Position, Version
from lastword.replicas.replica_set import ReplicaSet

LOST_AFTER_MS = 10_000
"""How long after an acknowledgement the log must have reached it; a new leader may take a moment.

A log that ends earlier has lost the record: no copy will ever apply it.
"""


class Mark(NamedTuple):
    """The offset after the last write to a partition, and when and of which topic it was noted."""

    offset: int
    topic_id: str
    noted_ms: int


class UnreadWrites:
    """The last write to each partition, until it is applied. Safe to use from any thread.

    ``marks`` is empty if everything is applied as far as known. A read checks only that, unless
    there was a write since the last read.
    """

    def __init__(self, replicas: ReplicaSet, clock: Clock) -> None:
        self.marks: dict[int, Mark] = {}
        self._replicas = replicas
        self.clock = clock
        self._lock = threading.Lock()

    def reflect(self, version: Version) -> None:
        """Have later reads reflect that record; call it before the write is answered."""
        self._note(version.partition, version.offset + 1)

    def note(self, position: Position, _timeout_s: float = 0.0) -> None:
        """Have later reads reflect ``position``; call it before the writes are answered."""
        for partition, offset in position.offsets.items():
            self._note(partition, offset)

    def _note(self, partition: int, offset: int) -> None:
        topic_id = self._replicas.topic_state.topic_id
        with self._lock:
            known = self.marks.get(partition)
            if known is None or known.offset < offset or known.topic_id != topic_id:
                self.marks[partition] = Mark(offset, topic_id, self.clock.now_ms())

    def behind(self, partitions: Collection[int]) -> dict[int, int]:
        """The offsets that those of these partitions which are here have yet to reach."""
        missing: dict[int, int] = {}
        held = self._replicas.held
        for partition in self.marks.keys() & set(partitions):
            mark, replica = self.marks.get(partition), held.get(partition)
            if mark is None or replica is None:
                continue
            if replica.position >= mark.offset or self._is_lost(partition, mark):
                self._forget(partition, mark)
            else:
                missing[partition] = mark.offset
        return missing

    def wait(self, partitions: Collection[int], timeout_s: float) -> None:
        """Wait until reads of these partitions reflect every write that was noted before.

        Raises NotUpToPositionError after that time, and PartitionNotHereError for a partition that
        leaves meanwhile.
        """
        if missing := self.behind(partitions):
            self._replicas.wait_for(Position(missing), timeout_s)

    def _is_lost(self, partition: int, mark: Mark) -> bool:
        """Whether the log no longer has the record: another topic, or one that was cut off."""
        state = self._replicas.topic_state
        if state.topic_id != mark.topic_id:
            return True
        answered = partition not in state.unanswered
        late = state.at_ms >= mark.noted_ms + LOST_AFTER_MS
        return answered and late and state.ends[partition] < mark.offset

    def _forget(self, partition: int, mark: Mark) -> None:
        with self._lock:
            if self.marks.get(partition) is mark:
                del self.marks[partition]
