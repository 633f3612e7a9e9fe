"""The writes of a table that evicts keys, and must therefore be its topic's only writer."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from lastword.records import Batch, Header, Position, Version, Write
from lastword.writer.direct import DirectWriter
from lastword.writer.evictions import Evictions
from lastword.writer.instance_fence import InstanceFence
from lastword.writer.outcome import Outcome
from lastword.writer.write_path import WritePath


class SoleWriter:
    """A WritePath on top of ``path`` that also deletes evicted keys in the topic.

    Every record gets two headers: ``mark`` names this table, and the fence's header this instance.
    Tombstones of evicted keys go through ``tombstones``, without waiting.
    """

    def __init__(
        self, path: WritePath, tombstones: DirectWriter, mark: Header, fence: InstanceFence
    ) -> None:
        self._path = path
        self._tombstones = tombstones
        self._mark = mark
        self._fence = fence
        self._lock = threading.Lock()
        self._evictions = Evictions()

    def write(self, records: Sequence[Write]) -> list[Outcome]:
        """Write marked records; no eviction deletes a newer record."""
        marked = self._marked(records)
        self.connect()  # not with the lock, as the tombstones below would
        keys = [record.key for record in records]
        versions: list[Version | None] = [None] * len(keys)
        with self._lock:
            self._evictions.begin_write(keys)
        try:
            outcomes = self._path.write(marked)
            versions = [outcome.version for outcome in outcomes]
        finally:
            with self._lock:
                self._post_tombstones(self._evictions.end_write(keys, versions))
        return outcomes

    def evict(self, keys: Sequence[bytes], position: Position) -> None:
        """Delete keys that the store dropped at ``position``, without waiting for it."""
        if keys:
            with self._lock:
                self._post_tombstones(self._evictions.evict(keys, position))

    def check(self, batch: Batch) -> None:
        """Raise FencedError if the batch, read while live, was written by another instance."""
        self._fence.check(batch)

    def connect(self) -> None:
        """Connect now, which may take seconds, instead of on the first write or eviction."""
        self._tombstones.connect()

    def close(self) -> None:
        """Close the paths below; idempotent."""
        self._path.close()
        self._tombstones.close()

    def _post_tombstones(self, keys: Sequence[bytes]) -> None:
        self._tombstones.post(self._marked([Write(key, None) for key in keys]))

    def _marked(self, records: Sequence[Write]) -> list[Write]:
        if not records:
            return []
        marks = (self._mark, self._fence.mark())
        return [record._replace(headers=(*record.headers, *marks)) for record in records]
