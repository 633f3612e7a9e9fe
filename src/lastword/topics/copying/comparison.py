"""Compares a copy with its source, key by key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b

import msgspec

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.errors import ConnectionFailedError
from lastword.kafka.admin import Admin, TopicInfo
from lastword.kafka.admin.offsets import LogBounds
from lastword.kafka.log.source import LogSource
from lastword.keyspace import Keyspace
from lastword.records import FENCE_KEY, Headers, Record, TopicPartition
from lastword.topics.copying.target import Endpoints
from lastword.topics.copying.topic_copy import CopyReport, without_request_id

EXAMPLES_MAX = 5
SETTLE_S = 90.0
_LOOK_S = 0.05
_DIGEST_BYTES = 16
_pack = msgspec.msgpack.Encoder().encode

Digests = dict[bytes, bytes]
"""key -> digest of its last record; deleted keys are not in it."""


@dataclass(frozen=True)
class Comparison:
    """How a copy and its source differ, as of the position up to which it was copied.

    ``moving`` keys were written again in the source meanwhile: the copy gets them next.
    """

    equal: int
    moving: int
    missing: int
    extra: int
    different: int
    examples: tuple[bytes, ...]

    @property
    def faults(self) -> int:
        """How many keys differ for good."""
        return self.missing + self.extra + self.different


def compare(
    admin: Admin,
    log_source: LogSource,
    ends: Endpoints,
    positions: Mapping[TopicPartition, int],
    report: CopyReport,
    *,
    key_suffix_bytes: int = 0,
) -> Comparison:
    """Read both topics once and compare the last record of every key.

    Value, headers and timestamp count. Keeps about 150 bytes for each key while it reads. Records
    after ``positions`` in the source are not copied yet, so their keys are only counted.
    """
    source, target = ends.source, ends.target
    to_read = {
        target: settled_bounds(admin, target),
        source: admin.bounds(source.name, range(source.partitions)),
    }
    total = sum(each.stable_end - each.start for b in to_read.values() for each in b.values())
    done = 0
    digests: list[Digests] = []
    for topic, bounds in to_read.items():
        ranges = {p: (each.start, each.stable_end) for p, each in bounds.items()}
        keyspace = Keyspace(topic.partitions, key_suffix_bytes)
        found: Digests = {}
        for batch in log_source.read(topic.name, ranges):
            fold(batch.records(), keyspace, found)
            done += len(batch)
            report(min(done, total), total)
        digests.append(found)
    copied, original = digests
    moving = _written_after(admin, log_source, ends, positions)
    return compared(original, copied, moving)


def settled_bounds(
    admin: Admin, topic: TopicInfo, clock: Clock = SYSTEM_CLOCK
) -> Mapping[int, LogBounds]:
    """The ends of a topic once every transaction is decided: a commit is visible a little later."""
    deadline = clock.monotonic() + SETTLE_S
    while True:
        bounds = admin.bounds(topic.name, range(topic.partitions))
        if all(each.stable_end == each.end for each in bounds.values()):
            return bounds
        if clock.monotonic() >= deadline:
            raise ConnectionFailedError(
                f"{topic.name} has an open transaction of another writer than the copy",
                hint="stop that writer: a copy must be the only writer until the switch",
            )
        clock.sleep(_LOOK_S)


def _written_after(
    admin: Admin,
    log_source: LogSource,
    ends: Endpoints,
    positions: Mapping[TopicPartition, int],
) -> set[bytes]:
    """The keys that the source has after the copied position, up to its current end.

    Compaction may have removed their earlier records at any moment of the comparison.
    """
    name = ends.source.name
    ranges = {
        p: (max(positions[TopicPartition(name, p)], each.start), each.stable_end)
        for p, each in admin.bounds(name, range(ends.source.partitions)).items()
    }
    keys: set[bytes] = set()
    for batch in log_source.read(name, ranges):
        keys.update(key for key in batch.keys if key is not None)
    return keys


def fold(records: Iterable[Record], keyspace: Keyspace, into: Digests) -> None:
    """Take the last record of each key, as a table would."""
    for record in records:
        key = record.key
        if not key or key == FENCE_KEY or keyspace.partition_of(key) != record.partition:
            continue
        if record.value is None:
            into.pop(key, None)
        else:
            into[key] = digest_of(record.value, record.timestamp_ms, record.headers)


def compared(original: Digests, copied: Digests, moving: set[bytes]) -> Comparison:
    """Count the differences of the keys that are not moving."""
    counts = {"equal": 0, "missing": 0, "extra": 0, "different": 0}
    examples: list[bytes] = []
    for key in original.keys() | copied.keys():
        if key in moving:
            continue
        here, there = original.get(key), copied.get(key)
        if here is None:
            kind = "extra"
        elif there is None:
            kind = "missing"
        else:
            kind = "equal" if here == there else "different"
        counts[kind] += 1
        if kind != "equal" and len(examples) < EXAMPLES_MAX:
            examples.append(key)
    return Comparison(moving=len(moving), examples=tuple(examples), **counts)


def digest_of(value: bytes, timestamp_ms: int, headers: Headers) -> bytes:
    """The parts of a record that must be equal in the copy."""
    packed = _pack((value, timestamp_ms, without_request_id(headers)))
    return blake2b(packed, digest_size=_DIGEST_BYTES).digest()
