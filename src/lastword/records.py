"""The values everything else passes around: no I/O, no Kafka client, no codec."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lastword.errors import ConfigError

Header = tuple[str, bytes | None]
Headers = tuple[Header, ...]
NO_HEADERS: Headers = ()
# Kafka's partitions have 31 bits and its offsets 63; Python refuses to read much longer numbers.
_VERSION = re.compile(r"([0-9]{1,10}):([0-9]{1,19})")
INSTANCE_HEADER = "lastword-instance"
"""Says which instance of an evicting table wrote a record."""


class Version(NamedTuple):
    """Where a key's current record stands: the compare-and-set token of the key.

    >>> str(Version(partition=2, offset=17))
    '2:17'
    """

    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.partition}:{self.offset}"

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read what ``str`` wrote."""
        found = _VERSION.fullmatch(text)
        if found is None:
            raise ConfigError(
                f"{text[:100]!r} is not a version",
                hint="a version is PARTITION:OFFSET, such as 2:17",
            )
        return cls(int(found[1]), int(found[2]))


class Record(NamedTuple):
    """One record of a log, as raw bytes. A ``value`` of None is a tombstone."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers = NO_HEADERS


@dataclass(slots=True)
class Batch:
    """A run of records of one partition, column by column, in offset order.

    ``next_offset`` is where reading goes on; it may lie beyond the last record, because
    transaction markers and compacted records take offsets too. ``unreadable_headers`` are the
    offsets of records that have headers in the log and none here: a name is not UTF-8.
    """

    partition: int
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    offsets: Sequence[int]
    timestamps: Sequence[int]
    headers: Sequence[Headers | None]
    next_offset: int
    leader_epoch: int = -1
    unreadable_headers: Sequence[int] = ()

    def __len__(self) -> int:
        return len(self.keys)

    def first(self, count: int, next_offset: int) -> Batch:
        """The first ``count`` records, after which reading goes on at ``next_offset``."""
        return Batch(
            self.partition,
            self.keys[:count],
            self.values[:count],
            self.offsets[:count],
            self.timestamps[:count],
            self.headers[:count],
            next_offset,
            self.leader_epoch,
            [offset for offset in self.unreadable_headers if offset < next_offset],
        )

    def records(self) -> Iterator[Record]:
        """One Record after another, for readers that are not in a hurry."""
        for key, value, offset, timestamp, headers in zip(
            self.keys, self.values, self.offsets, self.timestamps, self.headers, strict=True
        ):
            yield Record(self.partition, offset, timestamp, key, value, headers or NO_HEADERS)


@dataclass(frozen=True)
class Position:
    """The next offset of each partition: a point in the life of a topic.

    ``topic_id`` is Kafka's id of that topic; one that was deleted and created again has another.
    ``complete_at_ms`` is a moment at which the topic held nothing beyond this position, no delete
    before it was missed, and 0 where that is not known. A position of a table has both; one
    that is made by hand names offsets only, of the topic as it is.

    >>> Position.parse("0:12,2:5").at_least(Position({2: 5}))
    True
    >>> str(Position({0: 12, 2: 5}, "lXK3xQ8bRz2c0p1v3o_5yA", 1769860800000))
    '0:12,2:5@lXK3xQ8bRz2c0p1v3o_5yA@1769860800000'
    """

    offsets: Mapping[int, int] = field(default_factory=dict)
    topic_id: str = ""
    complete_at_ms: int = field(default=0, compare=False)

    def __str__(self) -> str:
        offsets = ",".join(f"{p}:{offset}" for p, offset in sorted(self.offsets.items()))
        return offsets + self.suffix

    @property
    def suffix(self) -> str:
        """What follows the offsets in the text form."""
        if not self.topic_id:
            return ""
        moment = f"@{self.complete_at_ms}" if self.complete_at_ms else ""
        return f"@{self.topic_id}{moment}"

    @classmethod
    def parse(cls, text: str) -> Position:
        """Read what ``str`` wrote."""
        places, *origin = text.split("@")
        if len(origin) > 2 or "" in origin or not all(map(str.isdecimal, origin[1:])):
            raise ConfigError(
                f"{text!r} is not a position",
                hint="a position is PARTITION:OFFSET,..., in answers followed by @TOPIC-ID@TIME",
            )
        versions = [Version.parse(part) for part in places.split(",") if part]
        topic_id = origin[0] if origin else ""
        complete_at_ms = int(origin[1]) if len(origin) > 1 else 0
        return cls({v.partition: v.offset for v in versions}, topic_id, complete_at_ms)

    @classmethod
    def after(cls, version: Version) -> Position:
        """The first position at which the record of ``version`` is visible."""
        return cls({version.partition: version.offset + 1})

    def at_least(self, other: Position) -> bool:
        """Whether everything ``other`` has seen is seen here too."""
        return all(self.offsets.get(p, -1) >= offset for p, offset in other.offsets.items())

    def is_foreign_to(self, topic_id: str) -> bool:
        """Whether this is known to be of another topic than that with the id."""
        return self.topic_id not in {"", topic_id}
