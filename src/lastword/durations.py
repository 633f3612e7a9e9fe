"""Lengths of time as people write them: ``"60s"``, ``"6h"``, ``"500ms"``."""

from __future__ import annotations

import re
from datetime import timedelta

from lastword.errors import ConfigError

Duration = str | int | timedelta
"""Text with a unit, milliseconds, or a timedelta."""

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
# Longer numbers would be infinite as floats.
_TEXT = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*(ms|s|m|h|d)")


def milliseconds(duration: Duration, *, what: str = "a duration") -> int:
    """The duration in whole milliseconds; ``what`` names it in the error.

    >>> milliseconds("1.5h")
    5400000
    """
    if isinstance(duration, timedelta):
        length_ms = round(duration.total_seconds() * 1000)
    elif isinstance(duration, int) and not isinstance(duration, bool):
        length_ms = duration
    else:
        found = _TEXT.fullmatch(duration.strip()) if isinstance(duration, str) else None
        if found is None:
            raise ConfigError(
                f"{what} cannot be {str(duration)[:100]!r}",
                hint="write a number and a unit: 500ms, 60s, 5m, 6h, 1d",
            )
        length_ms = round(float(found[1]) * _UNITS_MS[found[2]])
    if length_ms < 0:
        raise ConfigError(f"{what} cannot be negative: {duration!r}")
    return length_ms
