"""The values everything else passes around: no I/O, no Kafka client, no codec."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from lastword.errors import ConfigError

if TYPE_CHECKING:  # numpy takes a tenth of a second to load
    import numpy as np
    from numpy.typing import NDArray

    from lastword.keyspace import Keyspace

Header = tuple[str, bytes | None]
Headers = tuple[Header, ...]
NO_HEADERS: Headers = ()
# Kafka's partitions have 31 bits and its offsets 63; Python refuses to read much longer numbers.
_VERSION = re.compile(r"([0-9]{1,10}):([0-9]{1,19})")
SOLE_WRITER_HEADER = "lastword-owner"
"""Says which table wrote a record, on a topic that only that table may write."""
INSTANCE_HEADER = "lastword-instance"
"""Says which instance of that table wrote it."""
REQUEST_HEADER = "lastword-request"
"""16 bytes that name the request by which an owner wrote a record. They show in the log whether a
request was applied; rows do not have them."""
FENCE_KEY = b"\x00lastword:fence"
"""The key of fence records, the same in every partition. It is never a row of a table."""
EXPIRES_HEADER = "lastword-expires"
"""Says when a record expires: milliseconds since 1970, as decimal text."""
ANY_PARTITION = -1
"""As the partition of a write: the one that the key's hash names."""


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


class Version(NamedTuple):
    """The partition and offset of a key's current record: its compare-and-set token.

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


class Absent(Enum):
    """The type of ABSENT, the ``expected`` version of a key that must not exist."""

    ABSENT = "ABSENT"


ABSENT: Final = Absent.ABSENT


class Write(NamedTuple):
    """A record to be written, as raw bytes. A ``value`` of None is a tombstone.

    Without a ``timestamp_ms`` it gets the time of writing. With an ``expected`` version (or ABSENT)
    it is written only if that is the key's current one, and None sets no condition. With ``ttl_ms``
    it expires that long after the appending process has received it, by that process's clock; a
    tombstone has no time to live.
    """

    key: bytes
    value: bytes | None
    headers: Headers = NO_HEADERS
    timestamp_ms: int | None = None
    partition: int = ANY_PARTITION
    expected: Version | Absent | None = None
    ttl_ms: int | None = None


class Record(NamedTuple):
    """One record of a log, as raw bytes. A ``value`` of None is a tombstone."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers = NO_HEADERS


class Batch(ABC):
    """Consecutive records of one partition in offset order, as a log source returns them.

    A batch answers for its records as a whole, so that native code can replace the loop over them
    and not only the fetch. The columns are for code that needs each record; a batch may create
    their objects on first use. ``lastword.testing.batch_contract`` is its contract.

    ``next_offset`` is where reading continues; it may be beyond the last record, because
    transaction markers and compacted records take offsets too. ``unreadable_headers`` are the
    offsets of records that have headers in the log and none here: a name is not UTF-8.
    """

    __slots__ = ()

    partition: int
    next_offset: int
    leader_epoch: int
    unreadable_headers: Sequence[int]

    @property
    @abstractmethod
    def keys(self) -> Sequence[bytes | None]:
        """The keys."""

    @property
    @abstractmethod
    def values(self) -> Sequence[bytes | None]:
        """The values; None is a tombstone."""

    @property
    @abstractmethod
    def offsets(self) -> NDArray[np.int64]:
        """The offsets, as an array: questions about all of them need no loop."""

    @property
    @abstractmethod
    def timestamps(self) -> NDArray[np.int64]:
        """The timestamps in milliseconds."""

    @property
    @abstractmethod
    def headers(self) -> Sequence[Headers | None]:
        """The headers; None for a record without any."""

    @property
    @abstractmethod
    def size_bytes(self) -> int:
        """The bytes of all keys and values."""

    @abstractmethod
    def __len__(self) -> int:
        """How many records there are."""

    @abstractmethod
    def first(self, count: int, next_offset: int) -> Batch:
        """The first ``count`` records; reading continues at ``next_offset``."""

    @abstractmethod
    def below(self, end: int) -> Batch:
        """The records with an offset below ``end``; reading continues there."""

    @abstractmethod
    def records(self) -> Iterator[Record]:
        """One Record after another; slower than the columns."""

    @abstractmethod
    def records_of(self, key: bytes) -> list[Record]:
        """The records of one key."""

    @abstractmethod
    def table_records(self, rules: TableRules) -> Iterator[Record]:
        """The records that belong to a table, every change of a key among them."""

    @abstractmethod
    def table_rows(self, rules: TableRules, validate: Validate | None = None) -> TableRows:
        """What the batch does to the store of a table.

        A record that ``validate`` refuses is dropped, and the last good one of its key counts.
        """

    @abstractmethod
    def row_changes(
        self, rules: TableRules, since_ms: int, validate: Validate | None = None
    ) -> Iterator[RowChange]:
        """Every change that belongs to a table, as a row. ``since_ms`` is the latest time so far.

        Dropped and refused records still advance the time of later ones.
        """

    @abstractmethod
    def tombstones(self) -> dict[bytes, int]:
        """The offset of the last tombstone of each key that has one here."""

    @abstractmethod
    def contents(self) -> BatchContents:
        """Counts and sizes, for a survey of the log."""

    @abstractmethod
    def offset_without(self, header: Header) -> int | None:
        """The offset of the first record without ``header``, fence records apart; or None."""

    @abstractmethod
    def header_values(self, name: str) -> Iterator[tuple[int, bytes]]:
        """(offset, value) of each record whose first header of that name has a value."""

    @abstractmethod
    def unowned(self) -> int:
        """How many records, fence records apart, have no request id: no owner wrote them."""


Validate = Callable[[Sequence[bytes], Sequence[bytes], Sequence[Headers]], Mapping[int, str]]
"""(keys, values, headers) of some records -> why some of them are bad, by index."""


@dataclass(frozen=True, slots=True)
class TableRules:
    """Which records belong to a table, and how they become its rows.

    Null keys never belong, and empty ones only with ``takes_empty_keys``: tables have none,
    pipelines may. Nor does a key in a partition that is not its own by ``keyspace``. Fence records
    do not belong either, and are not counted as dropped. No row has the request id of an owner.
    ``sole_writer`` is the header by which an evicting table marks its records. Their rows have
    neither this mark nor that of the instance, and come in the order of their records: that of use.
    """

    keyspace: Keyspace
    sole_writer: Header | None = None
    takes_empty_keys: bool = False


class Refused(NamedTuple):
    """A record with a value that cannot be read."""

    offset: int
    key: bytes
    reason: str


@dataclass(slots=True)
class TableRows:
    """What a batch does to a store, by the last record of each key, and what was dropped.

    ``puts`` are rows as ``lastword.rows`` packs them, ``deletes`` other keys. ``keyless`` and
    ``misplaced`` count records, not keys. ``bad_expiries`` counts rows whose header names no
    moment at which they could expire: they do not.
    """

    puts: dict[bytes, bytes]
    deletes: Sequence[bytes]
    keyless: int = 0
    misplaced: int = 0
    refused: Sequence[Refused] = ()
    bad_expiries: int = 0


class RowChange(NamedTuple):
    """A change of a key; a row of None is a delete.

    ``seen_from_ms`` is the latest timestamp of the partition up to and including this record.
    """

    key: bytes
    offset: int
    seen_from_ms: int
    row: bytes | None


class BatchContents(NamedTuple):
    """What a batch holds. ``sizes`` are the bytes of each key's last record, None if deleted."""

    tombstones: int
    keyless: int
    sizes: dict[bytes, int | None]


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
