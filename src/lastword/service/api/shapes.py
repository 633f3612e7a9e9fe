"""Every query and document of the interface: what validates a request also documents it."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from lastword.service.api.keys import Encoding
from lastword.service.api.shapes_routing import MaxLag, MaxStale, Route
from lastword.service.http.limits import (
    BATCH_RECORDS_MAX,
    LOOKUP_KEYS_MAX,
    PAGE_ITEMS_DEFAULT,
    PAGE_ITEMS_MAX,
)
from lastword.service.http.problems import Problem
from lastword.writer.outcome import Acknowledged, Failed, Indeterminate, Unread
from lastword.writer.owned.conflicts import Conflict, NotOwner

Flag = Literal["true", "false"]
KeyEncoding = Annotated[
    Encoding, Meta(description="how keys are written: as text, or their bytes in base64url")
]
Versions = Annotated[
    str,
    Meta(
        pattern=r"^[0-9]{1,9}:[0-9]{1,18}(,[0-9]{1,9}:[0-9]{1,18}){0,99}$",
        description="wait until the records of these versions (PARTITION:OFFSET) are visible",
        examples=["2:17"],
    ),
]
Stale = Annotated[
    Flag, Meta(description="answer even before the table has reached the end of its topic")
]
PageCursor = Annotated[
    str,
    Meta(
        pattern=r"^([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]{2,3})?$",
        description="`next` of the previous page, with the same other parameters",
    ),
]
Millis = Annotated[int, Meta(ge=0, le=2**53, description="milliseconds since 1970")]
ContactAge = Annotated[
    float, Meta(description="seconds since the cluster last answered; 0 for a past state")
]
TimeToLive = Annotated[
    str,
    Meta(
        pattern=r"^([1-9][0-9]{0,8}(ms|s)|[1-9][0-9]{0,6}m|[1-9][0-9]{0,4}h|[1-9][0-9]{0,3}d)$",
        description="the time to live, as a number and a unit: 500ms, 60s, 5m, 6h, 1d",
        examples=["1h"],
    ),
]
IfVersion = Annotated[
    str,
    Meta(
        pattern=r"^([0-9]{1,9}:[0-9]{1,18}|absent)$",
        description="write only if this is the key's version, or if it is `absent`",
        examples=["2:17"],
    ),
]
ExpiresAt = Annotated[int, Meta(description="when it expires, in milliseconds since 1970")]
VersionText = Annotated[str, Meta(description="PARTITION:OFFSET of the record")]


AsOf = Annotated[
    str,
    Meta(
        pattern=r"^([0-9]{1,15}|[0-9]{1,9}:[0-9]{1,18}(,[0-9]{1,9}:[0-9]{1,18}){0,99}"
        r"(@[A-Za-z0-9_-]{1,64}(@[0-9]{1,15})?)?"
        r"|[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]{2,15}(Z|[+-][0-9]{2}:[0-9]{2})?)?)$",
        description="a past moment: milliseconds since 1970, an ISO time, or a position "
        "(PARTITION:OFFSET,...); 410 if it can no longer be answered exactly",
        examples=["2026-01-31T12:00:00Z"],
    ),
]


class NoQuery(Struct, forbid_unknown_fields=True):
    """No parameters."""


_HEADER_NAMES = {
    "if_match": "If-Match",
    "if_none_match": "If-None-Match",
    "ttl": "Lastword-TTL",
}


class NoHeaders(Struct):
    """No headers of its own."""


class ReadQuery(Struct, forbid_unknown_fields=True):
    """What every read of a table takes."""

    at_least: Versions | UnsetType = UNSET
    stale: Stale = "false"
    route: Route | UnsetType = UNSET
    max_stale: MaxStale | UnsetType = UNSET
    max_lag: MaxLag | UnsetType = UNSET


class KeyQuery(ReadQuery):
    """How to read one key."""

    encoding: KeyEncoding = "text"
    as_of: AsOf | UnsetType = UNSET
    consistency: Annotated[
        Literal["local", "linearizable"],
        Meta(description="whether this instance answers, or the owner of the key's partition"),
    ] = "local"


class LookupQuery(ReadQuery):
    """How to read many keys."""

    encoding: KeyEncoding = "text"


class WriteQuery(Struct, forbid_unknown_fields=True):
    """How to write."""

    encoding: KeyEncoding = "text"


class ReadHeaders(Struct, rename=_HEADER_NAMES):
    """What a read may say in its headers."""

    if_none_match: (
        Annotated[str, Meta(description="the ETag that the caller has; if it is current: 304")]
        | UnsetType
    ) = UNSET


class WriteHeaders(Struct, rename=_HEADER_NAMES):
    """The condition of a write, in its headers: one of the two."""

    if_match: (
        Annotated[
            str,
            Meta(
                pattern='^"[0-9]{1,10}:[0-9]{1,19}"$',
                description="write only if this is the key's current ETag",
            ),
        ]
        | UnsetType
    ) = UNSET
    if_none_match: (
        Annotated[str, Meta(pattern="^[*]$", description="write only if the key does not exist")]
        | UnsetType
    ) = UNSET


class PutHeaders(WriteHeaders, rename=_HEADER_NAMES):
    """What a write of a value may say in its headers."""

    ttl: TimeToLive | UnsetType = UNSET


class PageQuery(KeyQuery, rename={"from_": "from"}):
    """Which keys, and how many at once."""

    prefix: Annotated[str, Meta(description="keys that begin with this")] | UnsetType = UNSET
    from_: Annotated[str, Meta(description="the first key")] | UnsetType = UNSET
    to: Annotated[str, Meta(description="the key before which the page ends")] | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=PAGE_ITEMS_MAX)] = PAGE_ITEMS_DEFAULT
    cursor: PageCursor | UnsetType = UNSET
    reverse: Annotated[Flag, Meta(description="from the last key to the first")] = "false"


class WindowsQuery(ReadQuery, rename={"from_": "from"}):
    """Which windows of a key: those with ``from <= start < to`` (sessions: by their end)."""

    from_: Millis = 0
    to: Millis | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=PAGE_ITEMS_MAX)] = PAGE_ITEMS_DEFAULT
    cursor: PageCursor | UnsetType = UNSET


class Window(Struct):
    """The time of a window or a session."""

    start: Millis
    end: Millis


class Item(Struct, omit_defaults=True):
    """A key's current record. ``error`` and ``raw_value`` stand in for a value that is bad."""

    key: Annotated[str | None, Meta(description="null if the key has no text form")]
    value: Raw
    version: VersionText
    timestamp: int
    expires_at: ExpiresAt | UnsetType = UNSET
    raw_key: Annotated[str, Meta(description="base64url")] | UnsetType = UNSET
    window: Window | UnsetType = UNSET
    raw_value: Annotated[str, Meta(description="base64")] | UnsetType = UNSET
    error: str | UnsetType = UNSET


class Page(Struct):
    """Some of the keys in order. Every page is as of one moment, the next as of a later one."""

    items: list[Item]
    next: Annotated[str | None, Meta(description="the cursor of the next page, if there is one")]
    position: Annotated[str, Meta(description="what the page reflects; `since` of a watch")]
    stale: bool
    contact_age_seconds: ContactAge


class Lookup(Struct, forbid_unknown_fields=True):
    """Keys to read together."""

    keys: Annotated[
        list[Annotated[str, Meta(min_length=1)]],
        Meta(min_length=1, max_length=LOOKUP_KEYS_MAX),
    ]


class FoundItems(Struct):
    """The records of those keys that exist, as of one moment."""

    items: list[Item]
    remaining: Annotated[
        int,
        Meta(description="how many of the last keys were omitted, because the values are large"),
    ]
    position: str
    stale: bool
    contact_age_seconds: ContactAge


class KeyCount(Struct):
    """How many keys there are."""

    count: int
    position: str
    stale: bool
    contact_age_seconds: ContactAge


class WriteAnswer(Struct):
    """A write that is acknowledged by the cluster and readable here."""

    version: VersionText


class OperationAnswer(Struct, omit_defaults=True):
    """The result of an operation, acknowledged by the cluster and readable here."""

    version: VersionText
    value: Raw
    timestamp: int
    expires_at: ExpiresAt | UnsetType = UNSET


class PutRecord(Struct, tag_field="op", tag="put", forbid_unknown_fields=True):
    """Write this value."""

    key: Annotated[str, Meta(min_length=1)]
    value: Raw
    ttl: TimeToLive | UnsetType = UNSET
    if_version: IfVersion | UnsetType = UNSET


class DeleteRecord(Struct, tag_field="op", tag="delete", forbid_unknown_fields=True):
    """Delete this key."""

    key: Annotated[str, Meta(min_length=1)]
    if_version: IfVersion | UnsetType = UNSET


class WriteBatch(Struct, forbid_unknown_fields=True):
    """Writes that are sent together; not a transaction."""

    records: Annotated[
        list[PutRecord | DeleteRecord], Meta(min_length=1, max_length=BATCH_RECORDS_MAX)
    ]


class KeyCheck(Struct, forbid_unknown_fields=True):
    """A condition on a key that is not written."""

    key: Annotated[str, Meta(min_length=1)]
    if_version: IfVersion


class Transaction(Struct, forbid_unknown_fields=True):
    """Writes to keys of one partition: all of them happen, or none."""

    records: Annotated[
        list[PutRecord | DeleteRecord], Meta(min_length=1, max_length=BATCH_RECORDS_MAX)
    ]
    checks: Annotated[list[KeyCheck], Meta(max_length=BATCH_RECORDS_MAX)] = []


class TransactionAnswer(Struct):
    """Every record is acknowledged by the cluster and readable here."""

    versions: Annotated[list[VersionText], Meta(description="one per record, in order")]


_CASES = (Acknowledged, Unread, Failed, Indeterminate, Conflict, NotOwner)
_STATUSES = [case.status for case in _CASES]


class BatchOutcome(Struct, omit_defaults=True):
    """What became of one write.

    ok: written and readable here; unread: written, but not read back in time; failed: not written;
    indeterminate: no answer in time, it may or may not have been written; conflict: not written,
    the key has another version; not-owner: not written, no owner was found in time.
    """

    key: str
    status: Annotated[str, Meta(extra_json_schema={"enum": _STATUSES})]
    version: VersionText | UnsetType = UNSET
    error: Problem | UnsetType = UNSET


class BatchAnswer(Struct):
    """One outcome per record, in order."""

    outcomes: list[BatchOutcome]
    failed: Annotated[int, Meta(description="how many are not `ok`")]


JSON_NULL = Raw(b"null")
