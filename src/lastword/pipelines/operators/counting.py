"""Adds the sizes of groups to the counts in a store, as columns: no Python object per count."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastword.pipelines.operators.grouping import RecordGroups
from lastword.pipelines.operators.state_view import StateView
from lastword.rows import PLAIN_ROW, prefix_columns

_COUNT = np.dtype(">i8")
_OPAQUE = np.dtype(f"V{_COUNT.itemsize}")
_ROW = np.dtype([*prefix_columns().descr, ("count", _COUNT)])


def add_counts(groups: RecordGroups, state: StateView, absent: NDArray[np.bool_] | None) -> bool:
    """Add the number of records of each group to its row, whose value is an int64.

    Returns False and changes nothing if a row is not of this form.
    """
    if state.is_changed:
        return False
    rows = state.stored_rows(groups.rows, absent)
    there = [row for row in rows if row is not None]
    if {*map(len, there)} - {_ROW.itemsize}:
        return False
    counts, times = groups.counts, groups.latest_ms
    if there:
        old = np.frombuffer(b"".join(there), _ROW)
        if (old["format"] != PLAIN_ROW).any():
            return False
        where = np.flatnonzero([row is not None for row in rows])
        counts, times = counts.copy(), times.copy()
        counts[where] += old["count"]
        times[where] = np.maximum(times[where], old["timestamp"])
    state.put_many(groups.rows, counts.astype(_COUNT).view(_OPAQUE).tolist(), times)
    return True
