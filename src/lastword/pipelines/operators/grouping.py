"""Groups a batch by key, or by key and window.

It works on columns, in Arrow and numpy: a Python step per record would cost more than the fold.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from lastword.pipelines.api.windows import TimeWindows
from lastword.pipelines.operators.events import Events
from lastword.pipelines.operators.operator import BatchContext

if TYPE_CHECKING:
    import pyarrow as pa

Numbers = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class RecordGroups:
    """The records of a batch, group by group; each group is folded into one row.

    ``rows`` are the keys of the groups in the store, in the order in which they first appear.
    ``records`` are the indexes of the grouped records in offset order, and ``codes`` the group of
    each. ``counts`` is the number of records of each group, ``latest_ms`` their largest timestamp,
    and ``windows_ms`` the start of the group's window, if there are windows.
    """

    rows: list[bytes]
    records: Numbers
    codes: Numbers
    counts: Numbers
    latest_ms: Numbers
    windows_ms: Numbers | None = None

    @cached_property
    def starts(self) -> list[int]:
        """Where the records of each group begin in ``order``, and where the last ones end."""
        starts = np.zeros(len(self.rows) + 1, np.int64)
        np.cumsum(self.counts, out=starts[1:])
        return starts.tolist()

    @cached_property
    def order(self) -> list[int]:
        """The indexes of the records, group by group; within a group they stay in offset order."""
        order: list[int] = self.records[np.argsort(self.codes, kind="stable")].tolist()
        return order

    def indexes(self, group: int) -> list[int]:
        """The records of one group."""
        return self.order[self.starts[group] : self.starts[group + 1]]

    def sizes(self) -> list[range]:
        """For each group, a sequence as long as it has records."""
        return list(map(range, self.counts.tolist()))

    def split(self, values: list[Any]) -> list[list[Any]]:
        """The values of all records, split by group."""
        ordered = [values[i] for i in self.order]
        return [ordered[start:end] for start, end in pairwise(self.starts)]


def by_key(events: Events, context: BatchContext, *, takes_nulls: bool) -> RecordGroups:
    """One group per key. Records without a key, or without a value, are counted and dropped."""
    timestamps = _column(events.timestamps)
    if len(timestamps):
        context.stream_time_ms = max(context.stream_time_ms, int(timestamps.max()))
    keys, chosen = _with_key(events, context)
    if not takes_nulls and (nulls := [i for i, value in enumerate(events.values) if value is None]):
        valued = ~np.isin(chosen, nulls)
        context.tally.null_values += len(chosen) - int(valued.sum())
        keys, chosen = keys.filter(valued), chosen[valued]
    if not len(chosen):
        return _NONE
    encoded = keys.dictionary_encode()
    codes = encoded.indices.to_numpy().astype(np.int64)
    return _group(encoded.dictionary.to_pylist(), codes, chosen, timestamps[chosen])


def by_window(events: Events, context: BatchContext, windows: TimeWindows) -> RecordGroups:
    """One group per key and window; stream time advances with every record.

    A late record is counted once for each window it misses.
    """
    keys, chosen = _with_key(events, context)
    if not len(chosen):
        return _NONE
    timestamps = _column(events.timestamps)[chosen]
    stream_times = np.maximum.accumulate(np.maximum(timestamps, context.stream_time_ms))
    context.stream_time_ms = int(stream_times[-1])
    starts = _window_starts(timestamps, windows)
    inside = starts <= timestamps[:, None]
    closed = starts <= (stream_times - windows.grace_ms - windows.size_ms)[:, None]
    context.tally.late += int((inside & closed).sum())
    record, which = np.nonzero(inside & ~closed)  # record by record: keeps the offset order
    if not len(record):
        return _NONE
    starts = starts[record, which]
    rows, windows_ms, codes = _rows_of_windows(keys.dictionary_encode(), record, starts)
    return _group(rows, codes, chosen[record], timestamps[record], windows_ms)


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


_NO_NUMBERS: Numbers = np.zeros(0, np.int64)
_NONE = RecordGroups([], *[_NO_NUMBERS] * 5)


def _with_key(events: Events, context: BatchContext) -> tuple[pa.LargeBinaryArray, Numbers]:
    """The keys that are there, and the indexes of their records."""
    import pyarrow as pa  # noqa: PLC0415 - on executors only

    keys = pa.array(events.keys, pa.large_binary())
    if not keys.null_count:
        return keys, np.arange(len(keys))
    context.tally.keyless += keys.null_count
    there = keys.is_valid()
    return keys.filter(there), np.flatnonzero(there.to_numpy(zero_copy_only=False))


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
) -> tuple[list[bytes], Numbers, Numbers]:
    """The key in the store and the window of each group, and the group of each record."""
    import pyarrow as pa  # noqa: PLC0415 - on executors only

    key_codes = keys.indices.to_numpy().astype(np.int64)[record]
    windows = pa.array(starts).dictionary_encode()
    pairs = key_codes * len(windows.dictionary) + windows.indices.to_numpy()
    codes = pa.array(pairs).dictionary_encode().indices.to_numpy().astype(np.int64)
    # Groups are numbered in the order in which they appear: a new one is larger than all before.
    examples = np.flatnonzero(np.diff(np.maximum.accumulate(codes), prepend=-1))
    windows_ms = starts[examples]
    names = keys.dictionary.to_pylist()
    suffixes = windows_ms.astype(">i8").view("V8").tolist()
    rows = [
        names[code] + suffix
        for code, suffix in zip(key_codes[examples].tolist(), suffixes, strict=True)
    ]
    return rows, windows_ms, codes


def _group(
    rows: list[bytes],
    codes: Numbers,
    records: Numbers,
    timestamps: Numbers,
    windows_ms: Numbers | None = None,
) -> RecordGroups:
    counts = np.bincount(codes, minlength=len(rows))
    latest = np.full(len(rows), -1, np.int64)
    np.maximum.at(latest, codes, timestamps)
    return RecordGroups(rows, records, codes, counts, latest, windows_ms)
