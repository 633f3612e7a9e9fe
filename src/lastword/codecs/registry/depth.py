"""Refuses values that are nested too deeply for native encoders.

fastavro and upb encode in native code without a limit. A value that contains itself, or is nested
some thousand levels deep, would overflow the native stack and end the process.
"""

from __future__ import annotations

from typing import Any

from lastword.errors import EncodeError

DEPTH_MAX = 100
"""How many dicts and lists may be nested in a value."""


def refuse_deep(value: Any) -> None:
    """Raise EncodeError for a value that is nested more than ``DEPTH_MAX`` levels deep."""
    if _is_deeper(value, DEPTH_MAX):
        raise EncodeError(
            f"the value is nested more than {DEPTH_MAX} levels deep, or contains itself",
            hint="refer to other records by their keys instead of nesting them",
        )


def _is_deeper(value: Any, levels: int) -> bool:
    if isinstance(value, dict):
        children: Any = value.values()
    elif isinstance(value, list | tuple):
        children = value
    else:
        return False
    if levels == 0:
        return True
    for child in children:  # any() would need a second frame for each level
        if isinstance(child, dict | list | tuple) and _is_deeper(child, levels - 1):
            return True
    return False
