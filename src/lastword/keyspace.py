"""Which partition a key belongs to: murmur2 exactly as Java's producer computes it.

A table is correct only when every record of a key is in one partition, so each batch that is
read is checked. One call per key would take longer than reading the record, hence the batch form:
numpy mixes one four-byte word of *all* keys at a time, straight out of the joined bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lastword.lazy_numpy import np
from lastword.native import NATIVE

if TYPE_CHECKING:
    import numpy.typing as npt

_SEED = 0x9747B28C
_M = 0x5BD1E995
_R = 24
_MASK = 0xFFFFFFFF

# Column by column a long key costs a dozen numpy calls per word; alone it is cheaper in a loop.
_LONGEST_IN_COLUMNS = 512
# The batch form takes 90 us however few the keys are; a live table gets them one at a time.
_FEW_KEYS = 16
_TAIL_MASKS = (0, 0xFF, 0xFFFF, 0xFFFFFF)

_WORD = struct.Struct("<I")


def murmur2(data: bytes) -> int:
    """The 32-bit hash of ``org.apache.kafka.common.utils.Utils.murmur2``, signed as in Java."""
    length = len(data)
    whole = length & ~3
    h = _SEED ^ length
    for (k,) in _WORD.iter_unpack(data[:whole]):
        k = (k * _M) & _MASK  # noqa: PLW2901
        h = ((h * _M) & _MASK) ^ (((k ^ (k >> _R)) * _M) & _MASK)
    if whole != length:
        h = ((h ^ int.from_bytes(data[whole:], "little")) * _M) & _MASK
    h = ((h ^ (h >> 13)) * _M) & _MASK
    h ^= h >> 15
    return h - (1 << 32) if h & 0x80000000 else h


def partition_of(key: bytes, suffix_bytes: int, partitions: int) -> int:
    """The partition of a key, in Python."""
    if suffix_bytes and len(key) >= suffix_bytes:
        key = key[:-suffix_bytes]
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def by_partition(keys: list[bytes], suffix_bytes: int, partitions: int) -> dict[int, list[bytes]]:
    """The keys of each partition in their order, in Python."""
    groups: dict[int, list[bytes]] = {}
    for key in keys:
        groups.setdefault(partition_of(key, suffix_bytes, partitions), []).append(key)
    return groups


# Measured: 0.1 us for a key of 12 bytes in C, 2 us in Python.
_partition_of = partition_of if NATIVE is None else NATIVE.partition_of
_by_partition = by_partition if NATIVE is None else NATIVE.by_partition


@dataclass(frozen=True, slots=True)
class Keyspace:
    """How a topic's keys are spread over its partitions, as ``murmur2_random`` does it.

    The last ``suffix_bytes`` of a key do not decide its partition: 8 for windowed and 16 for
    session keys, which follow their inner key. A key shorter than that counts as a whole.

    >>> Keyspace(3).partition_of(b"user-1")
    2
    """

    partitions: int
    suffix_bytes: int = 0

    def partition_of(self, key: bytes) -> int:
        """The partition of one key."""
        home: int = _partition_of(key, self.suffix_bytes, self.partitions)
        return home

    def by_partition(self, keys: list[bytes]) -> dict[int, list[bytes]]:
        """The keys of each partition, in their order."""
        groups: dict[int, list[bytes]] = _by_partition(keys, self.suffix_bytes, self.partitions)
        return groups

    def partitions_of(self, keys: Sequence[bytes]) -> npt.NDArray[np.int64]:
        """The partition of each key, for many at once."""
        lengths = np.fromiter(map(len, keys), np.int64, len(keys))
        starts = np.cumsum(lengths) - lengths
        suffix = self.suffix_bytes
        hashed = np.where(lengths >= suffix, lengths - suffix, lengths)
        hashes = _murmur2_columns(b"".join(keys), starts, np.minimum(hashed, _LONGEST_IN_COLUMNS))
        for i in np.flatnonzero(hashed > _LONGEST_IN_COLUMNS).tolist():
            hashes[i] = murmur2(keys[i][: hashed[i]]) & _MASK
        return (hashes & np.uint32(0x7FFFFFFF)).astype(np.int64) % self.partitions

    def misplaced(self, keys: Sequence[bytes], partition: int) -> npt.NDArray[np.int64]:
        """The indexes of the keys that do not belong to ``partition``, in ascending order."""
        if self.partitions == 1:
            return np.empty(0, np.int64)
        if len(keys) < _FEW_KEYS:
            homes = [self.partition_of(key) for key in keys]
            return np.array([i for i, home in enumerate(homes) if home != partition], np.int64)
        return np.flatnonzero(self.partitions_of(keys) != partition)


def _murmur2_columns(
    joined: bytes, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint32]:
    """The hash of every ``joined[start:start + length]``, one word of all of them at a time."""
    # Every four bytes of the buffer as a little-endian word, at any byte: an overlapping view.
    words = np.ndarray(len(joined) + 1, "<u4", joined + bytes(4), strides=(1,))
    h = np.uint32(_SEED) ^ lengths.astype(np.uint32)
    full = lengths >> 2
    everywhere = int(full.min()) if len(full) else 0
    for word in range(everywhere):  # the words that every key has need no selection
        _mix(h, words[starts + 4 * word])
    for word in range(everywhere, int(full.max(initial=0))):
        longer = np.flatnonzero(full > word)
        part = h[longer]
        _mix(part, words[starts[longer] + 4 * word])
        h[longer] = part
    rest = lengths & 3
    tail = words[starts + 4 * full] & np.array(_TAIL_MASKS, np.uint32)[rest]
    h = np.where(rest > 0, (h ^ tail) * np.uint32(_M), h)
    h ^= h >> np.uint32(13)
    h *= np.uint32(_M)
    h ^= h >> np.uint32(15)
    return h


def _mix(h: npt.NDArray[np.uint32], k: npt.NDArray[np.uint32]) -> None:
    """One round of murmur2, in place."""
    k *= np.uint32(_M)
    k ^= k >> np.uint32(_R)
    k *= np.uint32(_M)
    h *= np.uint32(_M)
    h ^= k
