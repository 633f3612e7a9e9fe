"""The answer to a read of one key: used by the route and by the short cut in front of it.

``ReadOptions`` is how a request wants a table to be read: how current, and where.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import UNSET

from lastword.errors import DecodeError
from lastword.records import Position
from lastword.service.api.served import ServedTable
from lastword.service.api.shapes import ReadQuery
from lastword.service.http.answers import JSON, OCTETS, SECURITY_HEADERS, HttpAnswer, HttpHeader
from lastword.service.http.problems import RefusedError
from lastword.table.entry import Answer, RawEntry
from lastword.table.partitioned.routing import Routing, make_routing
from lastword.table.raw import RawTable
from lastword.table.scan import Scan

FoundEntry = Answer[RawEntry | None]

# Caches may keep a value, but must ask whether its version is still the current one.
_REVALIDATE: HttpHeader = (b"cache-control", b"no-cache")
_VARY: HttpHeader = (b"vary", b"accept")
_ALWAYS: tuple[HttpHeader, ...] = (_REVALIDATE, _VARY, *SECURITY_HEADERS)
_JSON_HEADERS: tuple[HttpHeader, ...] = ((b"content-type", JSON), *_ALWAYS)
_OCTETS_HEADERS: tuple[HttpHeader, ...] = ((b"content-type", OCTETS), *_ALWAYS)
_STALE: HttpHeader = (b"lastword-stale", b"true")
_TTL = b"lastword-ttl"
_EXPIRES_AT = b"lastword-expires-at"
_CONTACT_AGE = b"lastword-contact-age"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The table to read, and the arguments of its reads."""

    routing: Routing | None = None
    arguments: dict[str, Any] = field(default_factory=dict)

    def of(self, raw: RawTable) -> RawTable:
        """The table that is read like this; raises ConfigError if it is not partitioned.

        A request has waited for earlier writes before it reads, without a thread.
        """
        if self.routing is not None:
            return raw.within(self.routing)
        return raw if self.arguments.get("allow_stale") else raw.at_once


PLAIN_READ = ReadOptions()


def read_options(query: ReadQuery, raw: RawTable, at_least_s: float) -> ReadOptions:
    """What the parameters of a request say."""
    routing = None
    if (query.route, query.max_stale, query.max_lag) != (UNSET, UNSET, UNSET):
        routing = make_routing(
            route=query.route != "false",
            max_stale=None if query.max_stale is UNSET else query.max_stale,
            max_lag=None if query.max_lag is UNSET else query.max_lag,
        )
    arguments: dict[str, Any] = {"allow_stale": query.stale == "true"}
    if raw.routes and query.at_least is not UNSET:
        named = Position.parse(query.at_least)
        arguments["at_least"] = Position({p: offset + 1 for p, offset in named.offsets.items()})
        arguments["timeout_s"] = at_least_s
    return ReadOptions(routing, arguments)


def read_key(
    served: ServedTable,
    key: bytes,
    headers: Mapping[bytes, bytes],
    options: ReadOptions = PLAIN_READ,
) -> HttpAnswer:
    """The value with its version as ETag; 304 when the caller has that version."""
    found = options.of(served.raw).get(key, **options.arguments)
    return entry_answer(served, found.value, found, headers)


def entry_answer(
    served: ServedTable,
    entry: RawEntry | None,
    found: FoundEntry | None,
    headers: Mapping[bytes, bytes],
) -> HttpAnswer:
    """The same for an entry that was read before; ``found`` says how current it is, if it is."""
    if entry is None:
        raise key_not_found(found)
    etag = b'"%d:%d"' % entry.version
    answered: tuple[HttpHeader, ...] = (
        (b"etag", etag),
        (b"lastword-timestamp", b"%d" % entry.timestamp_ms),
    )
    if entry.expires_at_ms is not None:
        answered = (*answered, (_EXPIRES_AT, b"%d" % entry.expires_at_ms))
    if found is not None:
        if entry.expires_at_ms is not None:
            left_ms = max(0, entry.expires_at_ms - served.raw.clock.now_ms())
            answered = (*answered, (_TTL, b"%dms" % left_ms))
        answered = (*answered, (_CONTACT_AGE, b"%.3f" % found.contact_age_s))
        if found.stale:
            answered = (*answered, _STALE)
        answered = (*answered, *origin_headers(found))
    wanted = headers.get(b"if-none-match")
    if wanted is not None and has_etag(wanted, etag):
        return HttpAnswer(304, (_REVALIDATE, _VARY, *answered))
    if headers.get(b"accept") == OCTETS:
        return HttpAnswer(200, (*_OCTETS_HEADERS, *answered), entry.value)
    try:
        body = served.decoder.json_of(entry.value, entry.headers)
    except DecodeError as error:
        served.handle_bad(error, entry.version)
        raise key_not_found() from error
    return HttpAnswer(200, (*_JSON_HEADERS, *answered), body)


def origin_headers(found: Answer[Any] | Scan[Any]) -> tuple[HttpHeader, ...]:
    """Who answered a read of a partitioned table, and how stale the answer is."""
    if found.staleness_s is None:
        return ()
    return (
        (b"lastword-staleness", b"%.3f" % found.staleness_s),
        (b"lastword-answered-by", ",".join(found.answered_by).encode()),
    )


def has_etag(header: bytes, etag: bytes) -> bool:
    """Whether an If-None-Match header names ``etag``; weak ones count for reads."""
    if header in (etag, b"*"):
        return True
    return any(each.strip().removeprefix(b"W/") == etag for each in header.split(b","))


def key_not_found(found: FoundEntry | None = None) -> RefusedError:
    """No such key; its name is not repeated, because it may be any bytes."""
    headers = {} if found is None else {"lastword_contact_age": f"{found.contact_age_s:.3f}"}
    if found is not None and found.stale:
        headers["lastword_stale"] = "true"
    if found is not None:
        for name, value in origin_headers(found):
            headers[name.decode().replace("-", "_")] = value.decode()
    hint = "keys are case-sensitive"
    return RefusedError(404, "KeyNotFound", "there is no such key", hint=hint, **headers)
