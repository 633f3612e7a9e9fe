"""Reads from a local broker's files what Kafka's protocol does not report.

Kafka's protocol knows neither how far a partition has been compacted nor its segments. Both are
in the data directory, in formats Kafka has kept since its early versions.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from lastword.errors import BrokerError

_CLEANER_CHECKPOINT = "cleaner-offset-checkpoint"


class Segment(NamedTuple):
    """One segment file of a partition; the one with the highest base offset is being written."""

    base_offset: int
    size: int
    modified_ms: int


def cleaner_checkpoint(data_dir: Path) -> dict[tuple[str, int], int]:
    """(topic, partition) to the first offset the log cleaner has not cleaned.

    A partition that was never cleaned is not there. Kafka replaces the file as a whole
    after each cleaning, so what is read is consistent.
    """
    path = data_dir / _CLEANER_CHECKPOINT
    try:
        version, _, *entries = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except ValueError:
        return {}  # created, and nothing written yet
    if version != "0":
        raise BrokerError(f"{path} has format {version}; only format 0 is supported")
    clean_until = {}
    for entry in entries:
        topic, partition, offset = entry.split(" ")
        clean_until[topic, int(partition)] = int(offset)
    return clean_until


def segments(data_dir: Path, topic: str, partition: int) -> list[Segment]:
    """The segments of a partition in order; empty when this node has no replica of it."""
    found = []
    for path in (data_dir / f"{topic}-{partition}").glob("*.log"):
        try:
            stat = path.stat()
        except FileNotFoundError:
            continue  # compacted away between listing and looking
        found.append(Segment(int(path.stem), stat.st_size, stat.st_mtime_ns // 1_000_000))
    return sorted(found)
