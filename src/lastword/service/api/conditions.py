"""Conditions in the headers of a write: which version the key must have."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import UNSET, UnsetType

from lastword.errors import ConfigError
from lastword.records import ABSENT, Absent, Version
from lastword.service.http.problems import RefusedError

_ETAG = re.compile(rb'"([0-9]{1,10}):([0-9]{1,19})"')
_MATCH = b"if-match"
_NONE_MATCH = b"if-none-match"


def condition_of(headers: Mapping[bytes, bytes], *, required: bool) -> Version | Absent | None:
    """What If-Match or If-None-Match asks for; None if neither is there.

    Raises RefusedError for a condition that cannot be checked, and, if ``required``, for a missing
    condition.
    """
    if b"if-unmodified-since" in headers:
        raise _refused("If-Unmodified-Since is not supported: two writes may have one timestamp")
    match, none_match = headers.get(_MATCH), headers.get(_NONE_MATCH)
    if match is not None and none_match is not None:
        raise _refused("If-Match and If-None-Match exclude each other")
    if match is not None:
        return _version(match)
    if none_match is None:
        if required:
            raise _required()
        return None
    if none_match.strip() != b"*":
        raise _refused("a write takes If-None-Match: * only")
    return ABSENT


def condition_in(given: str | UnsetType, *, required: bool) -> Version | Absent | None:
    """What ``if_version`` of a record of a batch asks for; None if it is not there."""
    if given is not UNSET:
        return ABSENT if given == "absent" else Version.parse(given)
    if required:
        raise _required()
    return None


def _version(header: bytes) -> Version:
    if (found := _ETAG.fullmatch(header)) is not None:
        return Version(int(found[1]), int(found[2]))
    text = header.strip()
    if len(text) < 2 or not (text.startswith(b'"') and text.endswith(b'"')):
        raise _refused("If-Match takes one strong ETag here")
    try:
        return Version.parse(text[1:-1].decode("latin-1"))
    except ConfigError as error:
        raise _refused(f"If-Match is not an ETag of this service: {error}") from error


def _required() -> RefusedError:
    return RefusedError(
        428,
        "ConditionRequired",
        "this table refuses writes without a condition",
        hint='send If-Match: "VERSION", or If-None-Match: * for a new key',
    )


def _refused(message: str) -> RefusedError:
    return RefusedError(
        400,
        "BadCondition",
        message,
        hint='If-Match: "2:17" names the version that a read returned as its ETag',
    )
