"""How much of a log Kafka's cleaner would clean now, by Kafka's own rules.

Kafka's LogCleanerManager cleans whole segments, from the first dirty offset up to the first
uncleanable one, once the cleanable bytes are a large enough part of clean plus cleanable
bytes, or once a record has waited for max.compaction.lag.ms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lastword.topics.partition_files import PartitionFiles, TimedSegment

Limit = Literal["active segment", "open transaction", "min.compaction.lag.ms"]


@dataclass(frozen=True)
class Cleanability:
    """The state of one log as the cleaner sees it.

    The log is clean below ``first_dirty_offset``; from ``first_uncleanable_offset`` on it must not
    be cleaned, because of ``limit``. ``due`` means that the cleaner picks it in its next round, and
    ``forced`` that it does so at any ratio.
    """

    first_dirty_offset: int
    first_uncleanable_offset: int
    limit: Limit
    clean_bytes: int
    cleanable_bytes: int
    uncleanable_bytes: int
    dirty_ratio: float
    forced: bool
    due: bool


def cleanability(
    files: PartitionFiles,
    settings: Mapping[str, str],
    *,
    log_start: int,
    log_end: int,
    stable_end: int,
    now_ms: int,
) -> Cleanability:
    """Judge the log as the cleaner would; ``stable_end`` is the last stable offset."""
    segments = files.segments
    dirty_from = _first_dirty_offset(files.cleaned_until, log_start, log_end)
    waiting = _inactive_from(files, dirty_from)
    limit, limit_offset = _limit(files, waiting, settings, stable_end, now_ms)
    dirty_end = max(dirty_from, limit_offset)
    beyond = _inactive_from(files, dirty_end)
    uncleanable_base = beyond[0].base_offset if beyond else files.active.base_offset
    clean = sum(s.size_bytes for s in segments if s.base_offset < dirty_from)
    cleanable = sum(
        s.size_bytes
        for s in _from(segments, min(dirty_from, uncleanable_base))
        if s.base_offset < uncleanable_base
    )
    ratio = cleanable / (clean + cleanable) if cleanable else 0.0
    oldest_ms = min((s.first_timestamp_ms for s in waiting), default=now_ms)
    forced = oldest_ms < now_ms - int(settings["max.compaction.lag.ms"])
    return Cleanability(
        first_dirty_offset=dirty_from,
        first_uncleanable_offset=uncleanable_base,
        limit=limit,
        clean_bytes=clean,
        cleanable_bytes=cleanable,
        uncleanable_bytes=sum(s.size_bytes for s in segments if s.base_offset >= uncleanable_base),
        dirty_ratio=ratio,
        forced=forced and cleanable > 0,
        due=(forced and cleanable > 0) or ratio > float(settings["min.cleanable.dirty.ratio"]),
    )


def _first_dirty_offset(cleaned_until: int | None, log_start: int, log_end: int) -> int:
    # A checkpoint outside the log belongs to an earlier log; the cleaner starts over.
    if cleaned_until is None or not log_start <= cleaned_until <= log_end:
        return log_start
    return cleaned_until


def _limit(
    files: PartitionFiles,
    waiting: Sequence[TimedSegment],
    settings: Mapping[str, str],
    stable_end: int,
    now_ms: int,
) -> tuple[Limit, int]:
    """What keeps the cleaner from going further, and from which offset on."""
    limits: list[tuple[int, Limit]] = [(files.active.base_offset, "active segment")]
    if stable_end < files.active.base_offset:
        limits.append((stable_end, "open transaction"))
    lag_ms = int(settings["min.compaction.lag.ms"])
    if lag_ms > 0:
        young = (s for s in waiting if s.largest_timestamp_ms > now_ms - lag_ms)
        limits += [(s.base_offset, "min.compaction.lag.ms") for s in list(young)[:1]]
    offset, limit = min(limits)
    return limit, offset


def _inactive_from(files: PartitionFiles, offset: int) -> list[TimedSegment]:
    """The segments before the active one that hold ``offset`` or more."""
    if offset >= files.active.base_offset:
        return []
    return _from(files.segments[:-1], offset)


def _from(segments: Sequence[TimedSegment], offset: int) -> list[TimedSegment]:
    """The segments that hold ``offset`` or more."""
    first = sum(1 for segment in segments if segment.base_offset <= offset)
    return list(segments[max(0, first - 1) :])
