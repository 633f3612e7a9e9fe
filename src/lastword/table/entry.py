"""The values that reads of a table return."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Self, TypeVar

from lastword.many_rows import live_rows
from lastword.records import Headers, Position, Version
from lastword.rows import decode_row

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class Entry:
    """A key's current record, decoded.

    It reads as absent from ``expires_at_ms`` on, if it has a time to live.
    """

    key: Any
    value: Any
    version: Version
    timestamp_ms: int
    headers: Headers
    expires_at_ms: int | None = None


class RawEntry(NamedTuple):
    """A key's current record, as it is stored."""

    key: bytes
    version: Version
    timestamp_ms: int
    headers: Headers
    value: bytes
    expires_at_ms: int | None = None


class PartitionRows(NamedTuple):
    """Some keys of one partition, and the row of each."""

    partition: int
    keys: list[bytes]
    rows: list[bytes]

    @classmethod
    def live(
        cls, wanted: Mapping[int, list[bytes]], stored: Iterable[list[bytes | None]], now_ms: int
    ) -> list[Self]:
        """Those of the ``wanted`` keys of each partition whose ``stored`` row has not expired."""
        return [
            cls(partition, *live_rows(keys, rows, now_ms))
            for (partition, keys), rows in zip(wanted.items(), stored, strict=True)
        ]

    def pairs(self) -> Iterator[tuple[bytes, bytes]]:
        """Each key with its row."""
        return zip(self.keys, self.rows, strict=True)


def raw_entry(partition: int, key: bytes, row: bytes) -> RawEntry:
    """Unpack a store's row."""
    offset, timestamp_ms, headers, value, expires_at_ms = decode_row(row)
    version = Version(partition, offset)
    return RawEntry(key, version, timestamp_ms, headers, value, expires_at_ms)


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A result and how current it is.

    Everything below ``position`` is reflected in ``value``, and possibly a little more.
    ``stale`` is True when the table has not reached the end of its topic or no longer follows it,
    when deletes may have been missed and a sweep has not finished yet, or when the cluster has not
    answered for ten seconds. ``contact_age_s`` is how long ago it last did.

    Of a partitioned table, ``answered_by`` has the instances that answered, and everything that was
    acknowledged more than ``staleness_s`` seconds ago is reflected. Other tables set neither.
    """

    value: T
    position: Position
    stale: bool
    contact_age_s: float
    staleness_s: float | None = None
    answered_by: tuple[str, ...] = ()

    def with_value(self, value: U) -> Answer[U]:
        """Another result that is as current."""
        return Answer(
            value,
            self.position,
            self.stale,
            self.contact_age_s,
            self.staleness_s,
            self.answered_by,
        )


@dataclass(frozen=True, slots=True)
class Change:
    """A put or a delete, as a watcher sees it.

    ``version`` and ``timestamp_ms`` are None for a delete that was found by a sweep, because
    its tombstone is no longer in the log.
    """

    key: Any
    value: Any
    deleted: bool
    version: Version | None
    timestamp_ms: int | None
    headers: Headers
