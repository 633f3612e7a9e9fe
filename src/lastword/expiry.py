"""The expiry of a record: its header, and how readers interpret it.

The header holds the moment itself, in milliseconds since 1970, written by the clock of whoever
wrote the record. A record's own timestamp plays no part: a producer may have left it out.
"""

from __future__ import annotations

import re

from lastword.durations import Duration, milliseconds
from lastword.errors import ConfigError
from lastword.records import EXPIRES_HEADER, Header, Headers

# Thirteen digits: from September 2001 to November 2286. A time in seconds, a duration, zero and
# a negative number all have fewer.
_TIME_MS = re.compile(rb"[1-9][0-9]{12}")
_LONGEST_MS = 100 * 365 * 86_400_000


def expires_header(expires_at_ms: int) -> Header:
    """The header of a record that expires at that moment."""
    return EXPIRES_HEADER, b"%d" % expires_at_ms


def expires_at_in(headers: Headers) -> int | None:
    """The moment that the headers name; None where there is none, or none that makes sense.

    Of several such headers the last one counts, as in Kafka's own ``lastHeader``.
    """
    found: bytes | None = None
    for name, value in headers:
        if name == EXPIRES_HEADER:
            found = value
    if found is None or _TIME_MS.fullmatch(found) is None:
        return None
    return int(found)


def names_expiry(headers: Headers) -> bool:
    """Whether there is such a header, valid or not."""
    return any(name == EXPIRES_HEADER for name, _ in headers)


def ttl_ms_of(ttl: Duration) -> int:
    """A time to live in milliseconds; raises ConfigError unless it is one."""
    length_ms = milliseconds(ttl, what="a time to live")
    if not 0 < length_ms <= _LONGEST_MS:
        raise ConfigError(
            f"a time to live cannot be {ttl!r}",
            hint="more than nothing, at most 100 years; leave it out for a record that stays",
        )
    return length_ms


def with_expiry(headers: Headers, ttl_ms: int, now_ms: int) -> Headers:
    """The headers of a record that is written now and lives that long."""
    return (*headers, expires_header(now_ms + ttl_ms))
