"""The quarantined records of one partition, and how the checkpoint keeps them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

import msgspec

from lastword.replicas.apply.checkpoint import Quarantined

QUARANTINE_MAX = 1_000

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[Quarantined, ...]).decode


class Quarantine:
    """The newest bad record of each key, as long as no good one follows it.

    Every apply writes a checkpoint, so the list is packed once for all of them until it changes.
    """

    def __init__(self, bad: Iterable[Quarantined] = ()) -> None:
        self._by_key = {each.key: each for each in bad}
        self._packed: bytes | None = None

    @classmethod
    def unpack(cls, stored: tuple[Quarantined, ...] | bytes) -> Quarantine:
        """Read what ``packed`` wrote, or the plain list of older versions."""
        return cls(_decode(zlib.decompress(stored)) if isinstance(stored, bytes) else stored)

    def packed(self) -> tuple[Quarantined, ...] | bytes:
        """For the checkpoint: compressed, because reasons and keys are similar."""
        if not self._by_key:
            return ()
        if self._packed is None:
            self._packed = zlib.compress(_encode(list(self._by_key.values())))
        return self._packed

    def get(self, key: bytes) -> Quarantined | None:
        """The bad record of a key, or None."""
        return self._by_key.get(key)

    def release(self, keys: Iterable[bytes]) -> None:
        """Remove keys that have a good record or a tombstone now, or whose bad record is gone."""
        if self._by_key:
            before = len(self._by_key)
            for key in keys:
                self._by_key.pop(key, None)
            if len(self._by_key) < before:
                self._packed = None

    def add(self, bad: Iterable[Quarantined]) -> None:
        """Add bad records; beyond the limit only those of keys that are listed already."""
        for each in bad:
            known = self._by_key.get(each.key)
            if known is None and len(self._by_key) >= QUARANTINE_MAX:
                continue
            if known is None or known.offset < each.offset:
                self._by_key[each.key] = each
                self._packed = None

    def __iter__(self) -> Iterator[Quarantined]:
        # A copy, in one step: other threads list what the tailing thread changes.
        return iter(list(self._by_key.values()))

    def __len__(self) -> int:
        return len(self._by_key)
