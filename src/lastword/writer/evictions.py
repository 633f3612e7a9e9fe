"""Which evicted keys may be deleted in the topic, and when.

A tombstone that is sent during a write of the same key would follow that write and delete the new
value. So it waits until the write is done, and is dropped if the write is newer than the evicted
row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lastword.records import Position, Version


class Evictions:
    """Keys being written and evictions that wait for them. Not thread-safe."""

    def __init__(self) -> None:
        self._writing: Counter[bytes] = Counter()
        self._written: dict[bytes, Version] = {}
        self._evicted_at: dict[bytes, Position] = {}

    def begin_write(self, keys: Sequence[bytes]) -> None:
        """These keys are about to be sent."""
        self._writing.update(keys)

    def end_write(self, keys: Sequence[bytes], versions: Sequence[Version | None]) -> list[bytes]:
        """These keys were written at ``versions``; returns those to be deleted now."""
        due: list[bytes] = []
        for key, version in zip(keys, versions, strict=True):
            if version is not None:
                self._written[key] = max(version, self._written.get(key, version))
            self._writing[key] -= 1
            if self._writing[key]:
                continue
            del self._writing[key]
            written = self._written.pop(key, None)
            evicted_at = self._evicted_at.pop(key, None)
            if evicted_at is not None and (written is None or _seen(written, evicted_at)):
                due.append(key)
        return due

    def evict(self, keys: Sequence[bytes], position: Position) -> list[bytes]:
        """The store dropped these keys at ``position``; returns those to be deleted now."""
        waiting = [key for key in keys if key in self._writing]
        self._evicted_at.update(dict.fromkeys(waiting, position))
        return [key for key in keys if key not in self._writing]


def _seen(version: Version, position: Position) -> bool:
    return version.offset < position.offsets[version.partition]
