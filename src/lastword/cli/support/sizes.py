"""Sizes and durations as people write and read them: ``100GiB``, ``16 min 40 s``."""

from __future__ import annotations

import re
from typing import Any

import click

_UNITS = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)")


class SizeType(click.ParamType[int]):
    """Bytes, with an optional unit: 512, 100MB (a million), 1GiB (2 to the 30th)."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of bytes."""
        if isinstance(value, int):
            return value
        match = _SIZE.fullmatch(value.strip())
        if match is None or match[2].upper() not in _UNITS:
            self.fail(f"{value!r} is not a size such as 512, 100MB or 1GiB", param, ctx)
        return round(float(match[1]) * _UNITS[match[2].upper()])


SIZE = SizeType()


def as_size(size_bytes: int) -> str:
    """Three digits and a unit.

    >>> as_size(1234567)
    '1.18 MiB'
    """
    size, unit = float(size_bytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.0f} {unit}" if size >= 100 or unit == "B" else f"{size:.3g} {unit}"


def as_duration(seconds: float) -> str:
    """The two largest units.

    >>> as_duration(512)
    '8 min 32 s'
    """
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    return f"{hours // 24} d {hours % 24} h"
