"""A partition on the disk of this machine, with the times that the cleaner uses."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lastword.broker.info import NodeInfo

_TIME_INDEX_ENTRY = struct.Struct(">qi")
_BATCH_MAX_TIMESTAMP = struct.Struct(">35xq")  # of a record batch, after 35 bytes of header


class TimedSegment(NamedTuple):
    """One file of a log, with the time of its first batch and the largest time in it."""

    base_offset: int
    size_bytes: int
    first_timestamp_ms: int
    largest_timestamp_ms: int


@dataclass(frozen=True)
class PartitionFiles:
    """A log on disk: its segments in order, and up to where it has been cleaned.

    ``cleaned_until`` is None when the cleaner has never been there.
    """

    segments: tuple[TimedSegment, ...]
    cleaned_until: int | None

    @property
    def active(self) -> TimedSegment:
        """The segment that is written to, and therefore never cleaned."""
        return self.segments[-1]


def read_partition_files(node: NodeInfo, topic: str, partition: int) -> PartitionFiles | None:
    """The files on disk now; None if this node has no replica of the partition."""
    timed = []
    for segment in node.segments(topic, partition):
        log = node.data_dir / f"{topic}-{partition}" / f"{segment.base_offset:020d}.log"
        # Where the files know no time, Kafka, too, takes that of the file.
        first_ms = _first_timestamp(log) or segment.modified_ms
        largest_ms = _largest_timestamp(log.with_suffix(".timeindex")) or segment.modified_ms
        timed.append(TimedSegment(segment.base_offset, segment.size, first_ms, largest_ms))
    if not timed:
        return None
    return PartitionFiles(tuple(timed), node.cleaner_checkpoint().get((topic, partition)))


def _first_timestamp(log: Path) -> int | None:
    try:
        with log.open("rb") as file:
            header = file.read(_BATCH_MAX_TIMESTAMP.size)
    except FileNotFoundError:  # replaced by the cleaner since it was listed
        return None
    if len(header) < _BATCH_MAX_TIMESTAMP.size:
        return None
    return int(_BATCH_MAX_TIMESTAMP.unpack(header)[0])


def _largest_timestamp(time_index: Path) -> int | None:
    """That of the last entry; the index of an active segment is allocated ahead, as zeros."""
    try:
        entries = time_index.read_bytes()
    except FileNotFoundError:
        return None
    used = -(-len(entries.rstrip(b"\0")) // _TIME_INDEX_ENTRY.size)
    if used == 0:
        return None
    return int(_TIME_INDEX_ENTRY.unpack_from(entries, (used - 1) * _TIME_INDEX_ENTRY.size)[0])
