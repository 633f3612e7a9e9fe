"""Sorts a batch by what its records belong to: by key, or by key and window."""

from __future__ import annotations

from lastword.pipelines.events import Events
from lastword.pipelines.operator import Turn
from lastword.pipelines.windows import TimeWindows

Groups = dict[bytes, list[int]]
"""Key in the store -> indexes of its records in the batch, in offset order."""


def by_key(events: Events, turn: Turn, *, takes_nulls: bool) -> Groups:
    """One group per key. Records without a key, or value, are counted and left out."""
    groups: Groups = {}
    for i, key in enumerate(events.keys):
        if not key:
            turn.tally.keyless += 1
        elif events.values[i] is None and not takes_nulls:
            turn.tally.null_values += 1
        elif key in groups:
            groups[key].append(i)
        else:
            groups[key] = [i]
    turn.stream_time_ms = max(turn.stream_time_ms, max(events.timestamps, default=-1))
    return groups


def by_window(events: Events, turn: Turn, windows: TimeWindows) -> Groups:
    """One group per key and window; stream time moves on with every record.

    A record that comes too late for a window is counted once for each window it misses.
    """
    groups: Groups = {}
    size_ms, grace_ms = windows.size_ms, windows.grace_ms
    stream_time_ms = turn.stream_time_ms
    late = 0
    for i, (key, timestamp_ms) in enumerate(zip(events.keys, events.timestamps, strict=True)):
        if not key:
            turn.tally.keyless += 1
            continue
        stream_time_ms = max(stream_time_ms, timestamp_ms)
        closed_before = stream_time_ms - grace_ms - size_ms
        for start_ms in windows.starts(timestamp_ms):
            if start_ms <= closed_before:
                late += 1
                continue
            row = key + start_ms.to_bytes(8, "big")
            if row in groups:
                groups[row].append(i)
            else:
                groups[row] = [i]
    turn.stream_time_ms = stream_time_ms
    turn.tally.late += late
    return groups


def by_key_in_stream_time(events: Events, turn: Turn) -> tuple[Groups, list[int]]:
    """One group per key, and for each record the stream time that it was met at."""
    groups: Groups = {}
    stream_times: list[int] = []
    for i, key in enumerate(events.keys):
        if key:
            turn.stream_time_ms = max(turn.stream_time_ms, events.timestamps[i])
            groups.setdefault(key, []).append(i)
        else:
            turn.tally.keyless += 1
        stream_times.append(turn.stream_time_ms)
    return groups, stream_times
