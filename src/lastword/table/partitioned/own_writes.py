"""Remembers what was written through a table, so that its reads reflect it wherever they go."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from lastword.records import Position, Version
from lastword.replicas.replica_set import ReplicaSet


class OwnWrites:
    """The offset after the last write to each partition. Safe to use from any thread.

    A write of a partitioned table does not wait until it is readable, because its partition may be
    elsewhere. A later read asks whoever answers it to wait for these offsets.
    """

    def __init__(self, replicas: ReplicaSet) -> None:
        self._replicas = replicas
        self._lock = threading.Lock()
        self._topic_id = ""
        self._offsets: dict[int, int] = {}

    def reflect(self, version: Version) -> None:
        """Have later reads reflect that record."""
        self.note(Position.after(version))

    def note(self, position: Position, _timeout_s: float = 0.0) -> None:
        """Have later reads reflect ``position``."""
        topic_id = self._replicas.topic_state.topic_id
        with self._lock:
            if topic_id != self._topic_id:  # another topic of the same name
                self._topic_id, self._offsets = topic_id, {}
            for partition, offset in position.offsets.items():
                self._offsets[partition] = max(offset, self._offsets.get(partition, 0))

    def of(self, partition: int) -> int:
        """The offset that reads of the partition must reflect; 0 if there is none."""
        if self._topic_id != self._replicas.topic_state.topic_id:
            return 0
        return self._offsets.get(partition, 0)

    def at_least(self, partitions: Iterable[int], given: Position | None) -> dict[int, int]:
        """These offsets of some partitions, or those ``given`` where they are larger."""
        wanted = {} if given is None else given.offsets
        offsets = {p: max(self.of(p), wanted.get(p, 0)) for p in partitions}
        return {p: offset for p, offset in offsets.items() if offset > 0}
