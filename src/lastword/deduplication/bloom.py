"""Approximate deduplication: keeps the last message ids in a fixed number of bytes.

Two Bloom filters alternate. Ids go into the younger one; when it has ``capacity`` of them, the
older one is emptied and becomes the younger. So the last ``capacity`` ids are always known, and the
false-positive rate never exceeds the given one. A single filter would fill up and finally call
every id a duplicate.

A filter is cut into pages, and an id has all its bits on one page. So a pipeline, which keeps the
pages in its store, reads and writes one page per id.
"""

from __future__ import annotations

import struct
from collections.abc import MutableMapping
from hashlib import blake2b
from math import ceil, log

import msgspec

from lastword.errors import ConfigError

PAGE_BYTES = 4096
_BITS = PAGE_BYTES * 8
# Pages fill unevenly; without some more bits the fuller ones would break the bound.
_MARGIN = 1.05
# Each bit is chosen by two bytes of a hash of at most 64, eight of which choose the page.
_PROBES_MAX = 28
_LOWEST_RATE = 2.0 ** (1 - _PROBES_MAX)

_HEAD = struct.Struct(">QQII")
_HEAD_KEY = b"head"
_PAGE_KEY = struct.Struct(">cQI")

Pages = MutableMapping[bytes, bytes]


class BloomDeduplicator:
    """Knows at least the last ``capacity`` ids, with few false positives.

    ``pages`` is where the bits are kept: memory, unless a mapping is given. For one thread.

    >>> seen = BloomDeduplicator(capacity=1000, false_positive_rate=0.001)
    >>> seen.is_duplicate("order-1"), seen.is_duplicate("order-1")
    (False, True)
    """

    def __init__(
        self, *, capacity: int, false_positive_rate: float, pages: Pages | None = None
    ) -> None:
        if capacity < 1 or not _LOWEST_RATE <= false_positive_rate < 1:
            raise ConfigError(
                f"no Bloom filter holds {capacity} ids at a false-positive rate of "
                f"{false_positive_rate}",
                hint=f"capacity is above 0, the rate from {_LOWEST_RATE:.0e} to below 1",
            )
        # An id is looked up in two filters: each may err half as often.
        bits_per_id = -log(false_positive_rate / 2) / log(2) ** 2
        self._capacity = capacity
        self._page_count = ceil(capacity * bits_per_id * _MARGIN / _BITS)
        self._probes = min(_PROBES_MAX, max(1, round(bits_per_id * log(2))))
        self._choose = struct.Struct(f">Q{self._probes}H")
        self._pages: Pages = {} if pages is None else pages
        self._generation, self._taken = self._read_head()

    @property
    def size_bytes(self) -> int:
        """How much both filters take at most."""
        return 2 * self._page_count * PAGE_BYTES

    def is_duplicate(self, message_id: object) -> bool:
        """Whether the id was, probably, seen before; if not, it is added."""
        digest = blake2b(id_bytes(message_id), digest_size=self._choose.size).digest()
        place, *probes = self._choose.unpack(digest)
        page = place % self._page_count
        mask = 0
        for probe in probes:
            mask |= 1 << (probe % _BITS)
        young = self._key(self._generation, page)
        for key in (young, self._key(self._generation - 1, page)):
            if self._bits(key) & mask == mask:
                return True
        self._pages[young] = (self._bits(young) | mask).to_bytes(PAGE_BYTES, "little")
        self._taken += 1
        if self._taken >= self._capacity:
            self._turn()
        self._write_head()
        return False

    def _turn(self) -> None:
        for page in range(self._page_count):
            self._pages.pop(self._key(self._generation - 1, page), None)
        self._generation, self._taken = self._generation + 1, 0

    def _bits(self, key: bytes) -> int:
        return int.from_bytes(self._pages.get(key, b""), "little")

    @staticmethod
    def _key(generation: int, page: int) -> bytes:
        return _PAGE_KEY.pack(b"p", generation, page)

    def _read_head(self) -> tuple[int, int]:
        """Which filter is the younger, and how many ids it has."""
        head = self._pages.get(_HEAD_KEY)
        if head is None:
            return 1, 0
        generation, taken, page_count, probes = _HEAD.unpack(head)
        if (page_count, probes) != (self._page_count, self._probes):
            raise ConfigError(
                f"these pages belong to a Bloom filter of {page_count} pages and {probes} probes, "
                f"not {self._page_count} and {self._probes}",
                hint="another capacity or rate needs a separate store: give it another name",
            )
        return generation, taken

    def _write_head(self) -> None:
        self._pages[_HEAD_KEY] = _HEAD.pack(
            self._generation, self._taken, self._page_count, self._probes
        )


def id_bytes(message_id: object) -> bytes:
    """A message id as bytes, the same in every process; ``1`` and ``"1"`` differ."""
    return message_id if isinstance(message_id, bytes) else msgspec.json.encode(message_id)
