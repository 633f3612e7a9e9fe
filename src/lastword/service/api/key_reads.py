"""The answer to a read of one key: used by the route and by the short cut in front of it."""

from __future__ import annotations

from collections.abc import Mapping

from lastword.errors import DecodeError
from lastword.service.api.served import ServedTable
from lastword.service.http.answers import JSON, OCTETS, SECURITY_HEADERS, HttpAnswer, HttpHeader
from lastword.service.http.problems import RefusedError
from lastword.table.entry import Answer, RawEntry

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


def read_key(
    served: ServedTable, key: bytes, headers: Mapping[bytes, bytes], *, allow_stale: bool = False
) -> HttpAnswer:
    """The value with its version as ETag; 304 when the caller has that version."""
    found = served.raw.get(key, allow_stale=allow_stale)
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
    wanted = headers.get(b"if-none-match")
    if wanted is not None and has_etag(wanted, etag):
        return HttpAnswer(304, (_REVALIDATE, _VARY, *answered))
    if headers.get(b"accept") == OCTETS:
        return HttpAnswer(200, (*_OCTETS_HEADERS, *answered), entry.value)
    try:
        body = served.values.to_json(entry.value)
    except DecodeError as error:
        served.decoder.handle_bad(error, *entry.version)
        raise key_not_found() from error
    return HttpAnswer(200, (*_JSON_HEADERS, *answered), body)


def has_etag(header: bytes, etag: bytes) -> bool:
    """Whether an If-None-Match header names ``etag``; weak ones count for reads."""
    if header in (etag, b"*"):
        return True
    return any(each.strip().removeprefix(b"W/") == etag for each in header.split(b","))


def key_not_found(found: FoundEntry | None = None) -> RefusedError:
    """No such key; its name is not repeated, for it may be anything."""
    headers = {} if found is None else {"lastword_contact_age": f"{found.contact_age_s:.3f}"}
    if found is not None and found.stale:
        headers["lastword_stale"] = "true"
    hint = "keys are case-sensitive"
    return RefusedError(404, "KeyNotFound", "there is no such key", hint=hint, **headers)
