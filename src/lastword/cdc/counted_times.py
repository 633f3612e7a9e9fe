"""Dates and times that arrive as numbers: counted from 1970, or from midnight.

Digits below a microsecond are cut off. What Python does not have becomes text: infinity, a year
before 1 or after 9999, and a time of 24:00 or more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta

MILLI, MICRO, NANO = 1_000, 1_000_000, 1_000_000_000
"""Units per second."""

# What PostgreSQL's infinity becomes on its way through Java's numbers: the first of each two in a
# snapshot, the second one in the stream. No date of a database is that far away.
_INFINITE_DAYS = {
    -622_191_234: "infinity",
    -2_147_472_692: "infinity",
    -625_821_272: "-infinity",
    -2_147_472_691: "-infinity",
}
_INFINITE_MILLIS = {9_223_372_036_825_200: "infinity", -9_223_372_036_832_400: "-infinity"}
_INFINITE: dict[int, Mapping[int, str]] = {
    MILLI: _INFINITE_MILLIS,
    MICRO: {millis * 1_000: text for millis, text in _INFINITE_MILLIS.items()},
    NANO: {2**63 - 1: "infinity", -(2**63): "-infinity"},
}

_EPOCH = datetime(1970, 1, 1)  # without a zone, as these columns are
_EPOCH_DAY = _EPOCH.toordinal()
_DAY = 86_400 * MICRO
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097  # the calendar repeats
_LAST_YEAR = 9999


def read_day(days: int) -> date | str:
    """The date so many days after 1970-01-01.

    >>> read_day(20455), read_day(106661767)
    (datetime.date(2026, 1, 2), '+294000-01-01')
    """
    try:
        return date.fromordinal(_EPOCH_DAY + days)
    except (ValueError, OverflowError):
        return _INFINITE_DAYS.get(days) or _far_day(days)


def timestamp_reader(per_second: int) -> Callable[[int], datetime | str]:
    """Reads a time since 1970, without a zone."""
    infinite = _INFINITE[per_second]

    def read(count: int) -> datetime | str:
        if count in infinite:
            return infinite[count]
        micros = count * MICRO // per_second
        try:
            return _EPOCH + timedelta(microseconds=micros)
        except OverflowError:
            days, rest = divmod(micros, _DAY)
            return f"{_far_day(days)}T{_clock(rest)}"

    return read


def time_reader(per_second: int) -> Callable[[int], time | str]:
    """Reads a time since midnight; MySQL has longer and negative ones.

    >>> time_reader(MILLI)(86_399_500), time_reader(MILLI)(86_400_000), time_reader(MILLI)(-1_500)
    (datetime.time(23, 59, 59, 500000), '24:00:00', '-00:00:01.5')
    """

    def read(count: int) -> time | str:
        micros = count * MICRO // per_second
        if 0 <= micros < _DAY:
            return (_EPOCH + timedelta(microseconds=micros)).time()
        return f"-{_clock(-micros)}" if micros < 0 else _clock(micros)

    return read


def duration_reader(per_second: int) -> Callable[[int], str]:
    """Reads a length of time as ISO 8601 text, in days and less.

    >>> duration_reader(MICRO)(93_784_500_000), duration_reader(MICRO)(-1)
    ('P0Y0M1DT2H3M4.5S', 'P0Y0M0DT0H0M-0.000001S')
    """

    def read(count: int) -> str:
        sign = "-" if count < 0 else ""
        minutes, micros = divmod(abs(count) * MICRO // per_second, 60 * MICRO)
        hours, minutes = divmod(minutes, 60)
        days, hours = divmod(hours, 24)
        parts = (str(days), str(hours), str(minutes), _seconds(micros))
        day, hour, minute, second = (part if part == "0" else sign + part for part in parts)
        return f"P0Y0M{day}DT{hour}H{minute}M{second}S"

    return read


def _far_day(days: int) -> str:
    """A day of any year; the year before 1 is 0000."""
    cycles, rest = divmod(_EPOCH_DAY + days - 1, _CYCLE_DAYS)
    day = date.fromordinal(rest + 1)
    year = day.year + _CYCLE_YEARS * cycles
    sign = "-" if year < 0 else "+" if year > _LAST_YEAR else ""
    return f"{sign}{abs(year):04}-{day:%m-%d}"


def _clock(micros: int) -> str:
    minutes, rest = divmod(micros, 60 * MICRO)
    hours, minutes = divmod(minutes, 60)
    whole, _, decimals = _seconds(rest).partition(".")
    return f"{hours:02}:{minutes:02}:{whole:0>2}{decimals and '.' + decimals}"


def _seconds(micros: int) -> str:
    """With as many decimals as it needs."""
    whole, rest = divmod(micros, MICRO)
    return f"{whole}.{rest:06}".rstrip("0") if rest else str(whole)
