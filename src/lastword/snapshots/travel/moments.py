"""Moments of the past, as people and programs name them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from lastword.errors import ConfigError
from lastword.records import Position, Version

_MILLISECONDS = re.compile(r"[0-9]{1,19}")

Moment = int | datetime | Position | Version
"""Milliseconds since 1970, a time, the offsets up to which to look, or a version just written."""


def as_milliseconds(moment: int | datetime) -> int:
    """A time as milliseconds since 1970; without a zone it is UTC."""
    if isinstance(moment, int):
        return moment
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return int(aware.timestamp() * 1000)


def time_of(moment: Moment) -> int | None:
    """The time of a moment in milliseconds; None for offsets, which have no time.

    A position from an answer includes a time at which the topic held no more than that.
    """
    if isinstance(moment, Version):
        return None
    if isinstance(moment, Position):
        return moment.complete_at_ms or None
    return as_milliseconds(moment)


_POSITION = re.compile(r"\d+:\d+(?:[,@]|$)")


def parse_moment(text: str) -> Moment:
    """Parse milliseconds, an ISO time, or a position.

    >>> parse_moment("0:12,1:7")
    Position(offsets={0: 12, 1: 7}, topic_id='', complete_at_ms=0)
    """
    if _MILLISECONDS.fullmatch(text):
        return int(text)
    if _POSITION.match(text):
        return Position.parse(text)
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ConfigError(
            f"cannot read {text[:100]!r} as a time or a position",
            hint="2026-01-31T12:00:00Z, milliseconds since 1970, or a position such as 0:12,1:7",
        ) from None
