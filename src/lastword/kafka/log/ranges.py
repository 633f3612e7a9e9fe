"""Reads given ranges of a log to their ends, with any reader."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

from lastword.errors import ConnectionFailedError, TopicNotFoundError
from lastword.kafka.log.source import EndOfLog, LogReader, PositionLost, Ranges, Unreadable
from lastword.records import Batch

_POLL_S = 0.5


def read_ranges(
    open_reader: Callable[[], LogReader],
    topic: str,
    ranges: Ranges,
    *,
    stall_timeout_s: float,
    stopping: Callable[[], bool],
) -> Generator[Batch, None, None]:
    """Implements ``LogSource.read``. Empty ranges open no reader."""
    ends = {partition: end for partition, (start, end) in ranges.items() if start < end}
    if not ends:
        return
    reader = open_reader()
    try:
        for partition in ends:
            reader.assign(partition, ranges[partition][0])
        waited_s, cause = 0.0, ""
        while ends and not stopping():
            news = reader.poll(_POLL_S)
            corrupt = [item for item in news if isinstance(item, Unreadable)]
            waited_s = 0.0 if len(news) > len(corrupt) else waited_s + _POLL_S
            for bad in corrupt:
                cause = f": partition {bad.partition}, offset {bad.offset}: {bad.reason}"
            if waited_s >= stall_timeout_s:
                raise ConnectionFailedError(
                    f"{topic}: nothing arrived for {stall_timeout_s:.0f} s before the end{cause}",
                    hint="is the broker reachable, or does an open transaction block the end?",
                )
            for item in news:
                if isinstance(item, PositionLost):
                    raise TopicNotFoundError(
                        f"{topic}, partition {item.partition}: the offset is gone: {item.reason}",
                        hint="the log was truncated or the topic was recreated; start again",
                    )
                if not isinstance(item, Unreadable):
                    yield from _within(item, ends, reader)
    finally:
        reader.close()


def _within(item: Batch | EndOfLog, ends: dict[int, int], reader: LogReader) -> Iterator[Batch]:
    """Pass on the records before the partition's end, and release the partition at the end."""
    end = ends.get(item.partition)
    if end is None:
        return
    if isinstance(item, EndOfLog):
        reached = item.offset
    else:
        reached = item.next_offset
        batch = item.below(end)
        if len(batch):
            yield batch
    if reached >= end:
        del ends[item.partition]
        reader.release(item.partition)
