"""Groups a batch by key, or by key and window.

It works on columns, in Arrow and numpy: a Python step per record would cost more than the fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from lastword.pipelines.api.windows import TimeWindows
from lastword.pipelines.operators.events import Events
from lastword.pipelines.operators.operator import BatchContext

if TYPE_CHECKING:
    import pyarrow as pa

Numbers = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class RecordGroups:
    """The records of a batch, group by group; each group is folded into one row.

    ``rows`` are the keys of the groups in the store, in the order in which they first appear.
    ``order`` has the indexes of the records: those of group g, in offset order, are from
    ``starts[g]`` to ``starts[g + 1]``. ``latest_ms`` is the largest timestamp of each group,
    ``windows_ms`` the start of its window, if there are windows.
    """

    rows: list[bytes]
    starts: list[int]
    order: list[int]
    latest_ms: list[int]
    windows_ms: Sequence[int] = ()

    def indexes(self, group: int) -> list[int]:
        """The records of one group."""
        return self.order[self.starts[group] : self.starts[group + 1]]

    def positions(self) -> list[range]:
        """Where the records of each group are in ``order``."""
        return [range(start, end) for start, end in pairwise(self.starts)]

    def split(self, values: list[Any]) -> list[list[Any]]:
        """The values of all records, split by group."""
        ordered = [values[i] for i in self.order]
        return [ordered[start:end] for start, end in pairwise(self.starts)]


def by_key(events: Events, context: BatchContext, *, takes_nulls: bool) -> RecordGroups:
    """One group per key. Records without a key, or without a value, are counted and dropped."""
    chosen = _with_key(events, context)
    if not takes_nulls:
        values = events.values
        valued = [i for i in chosen if values[i] is not None]
        context.tally.null_values += len(chosen) - len(valued)
        chosen = valued
    context.stream_time_ms = max(context.stream_time_ms, max(events.timestamps, default=-1))
    if not chosen:
        return _NONE
    keys = _encode_keys(events, chosen)
    indexes = np.array(chosen, np.int64)
    timestamps = _column(events.timestamps)[indexes]
    return _sort(keys.dictionary.to_pylist(), keys.indices.to_numpy(), indexes, timestamps)


def by_window(events: Events, context: BatchContext, windows: TimeWindows) -> RecordGroups:
    """One group per key and window; stream time advances with every record.

    A late record is counted once for each window it misses.
    """
    chosen = _with_key(events, context)
    if not chosen:
        return _NONE
    indexes = np.array(chosen, np.int64)
    timestamps = _column(events.timestamps)[indexes]
    stream_times = np.maximum.accumulate(np.maximum(timestamps, context.stream_time_ms))
    context.stream_time_ms = int(stream_times[-1])
    starts = _window_starts(timestamps, windows)
    inside = starts <= timestamps[:, None]
    closed = starts <= (stream_times - windows.grace_ms - windows.size_ms)[:, None]
    context.tally.late += int((inside & closed).sum())
    record, which = np.nonzero(inside & ~closed)  # record by record: keeps the offset order
    if not len(record):
        return _NONE
    keys = _encode_keys(events, chosen)
    starts = starts[record, which]
    rows, windows_ms, codes = _rows_of_windows(keys, record, starts)
    groups = _sort(rows, codes, indexes[record], timestamps[record])
    return replace(groups, windows_ms=windows_ms)


def by_key_in_stream_time(
    events: Events, context: BatchContext
) -> tuple[dict[bytes, list[int]], list[int]]:
    """The indexes of each key's records, and for each record the stream time just before it."""
    groups: dict[bytes, list[int]] = {}
    stream_times: list[int] = []
    for i, key in enumerate(events.keys):
        stream_times.append(context.stream_time_ms)
        if key is None:
            context.tally.keyless += 1
        else:
            context.stream_time_ms = max(context.stream_time_ms, events.timestamps[i])
            groups.setdefault(key, []).append(i)
    return groups, stream_times


_NONE = RecordGroups([], [0], [], [])


def _with_key(events: Events, context: BatchContext) -> list[int]:
    chosen = [i for i, key in enumerate(events.keys) if key is not None]
    context.tally.keyless += len(events) - len(chosen)
    return chosen


def _encode_keys(events: Events, chosen: list[int]) -> pa.DictionaryArray:
    """Number the keys of the chosen records, in the order in which they first appear."""
    import pyarrow as pa  # noqa: PLC0415 - on executors only

    every = len(chosen) == len(events)
    keys = events.keys if every else [events.keys[i] for i in chosen]
    return pa.array(keys, pa.large_binary()).dictionary_encode()


def _column(numbers: list[int]) -> Numbers:
    return np.array(numbers, np.int64)


def _window_starts(timestamps: Numbers, windows: TimeWindows) -> Numbers:
    """``windows.starts`` for each timestamp, one row each; may contain extra starts at the end."""
    size_ms, advance_ms = windows.size_ms, windows.advance_ms
    first = np.maximum(timestamps - size_ms + advance_ms, 0)
    most = -(-size_ms // advance_ms)
    starts: Numbers = (first - first % advance_ms)[:, None] + np.arange(most) * advance_ms
    return starts


def _rows_of_windows(
    keys: pa.DictionaryArray, record: Numbers, starts: Numbers
) -> tuple[list[bytes], list[int], Numbers]:
    """The key in the store and the window of each group, and the group of each record."""
    import pyarrow as pa  # noqa: PLC0415 - on executors only

    key_codes = keys.indices.to_numpy().astype(np.int64)[record]
    windows = pa.array(starts).dictionary_encode()
    pairs = key_codes * len(windows.dictionary) + windows.indices.to_numpy()
    codes = pa.array(pairs).dictionary_encode().indices.to_numpy()
    _, examples = np.unique(codes, return_index=True)
    names, windows_ms = keys.dictionary.to_pylist(), starts[examples].tolist()
    suffixes = {start: start.to_bytes(8, "big") for start in set(windows_ms)}
    rows = [
        names[code] + suffixes[start]
        for code, start in zip(key_codes[examples].tolist(), windows_ms, strict=True)
    ]
    return rows, windows_ms, codes


def _sort(rows: list[bytes], codes: Numbers, indexes: Numbers, timestamps: Numbers) -> RecordGroups:
    """Sort the records by group; within a group they stay in order."""
    sort = np.argsort(codes, kind="stable")
    starts = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(np.bincount(codes, minlength=len(rows)), out=starts[1:])
    latest = np.maximum.reduceat(timestamps[sort], starts[:-1])
    return RecordGroups(rows, starts.tolist(), indexes[sort].tolist(), latest.tolist())
