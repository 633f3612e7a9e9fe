"""How the rows of a mirror differ from those of its database."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tests.support.captures.database_values import LARGE
from tests.support.captures.mirror_reader import Rows

Row = dict[str, Any]


def differences_of(found: Rows, wanted: Rows, settled_n: int) -> Iterator[str]:
    """A line for each value that differs; a greater ``n`` than ``settled_n`` has its columns.

    If columns have changed (``settled_n`` is not 0), other rows may have the columns of before,
    and a row may lack a large value that was not sent and whose column cannot be found.
    """
    for key in sorted(found.keys() | wanted.keys()):
        if key not in found or key not in wanted:
            yield f"{key} is {'missing' if key in wanted else 'still there'}"
            continue
        row, selected = found[key], wanted[key]
        if selected["n"] > settled_n:
            lacking = {name for name in selected.keys() - row.keys() if name.startswith(LARGE)}
            columns = [name for name in selected if not (settled_n and name in lacking)]
            if list(row) != columns:
                yield f"{key} has the columns {list(row)} instead of {columns}"
        for name in row.keys() & selected.keys():
            is_equal = _is_same if selected["n"] > settled_n else _is_equal
            if not is_equal(row[name], selected[name]):
                yield f"{key}: {name} is {row[name]!r:.99} instead of {selected[name]!r:.99}"


def _is_same(value: Any, selected: Any) -> bool:
    return repr(value) == repr(selected)


def _is_equal(value: Any, selected: Any) -> bool:
    """Also if the type has become wider since, as a float of 32 bits that has 64 now."""
    if _is_same(value, selected) or value == selected:
        return True
    return type(value) is type(selected) is float and math.isclose(value, selected, rel_tol=1e-6)
