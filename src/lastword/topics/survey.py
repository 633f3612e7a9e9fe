"""One pass over a log that counts records, keys and tombstones, and checks partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from lastword.kafka.admin import Admin
from lastword.kafka.log.source import LogSource
from lastword.keyspace import Keyspace
from lastword.records import FENCE_KEY, Batch

EXAMPLES_MAX = 100
"""How many faulty keys are listed; all of them are counted."""


SurveyProgress = Callable[[int, int], None]
"""Called with how many offsets have been passed, and how many there are."""


@dataclass(frozen=True)
class PartitionContents:
    """What one partition's log holds, superseded records included.

    ``duplicates`` are records with a later record of the same key, which compaction removes.
    ``tombstones`` are records, too, not keys. ``record_bytes`` are the keys and values of all
    records before the producer compressed them, ``live_bytes`` those of the live keys.
    """

    records: int = 0
    live_keys: int = 0
    duplicates: int = 0
    tombstones: int = 0
    keyless: int = 0
    record_bytes: int = 0
    live_bytes: int = 0


@dataclass(frozen=True)
class Survey:
    """What a whole topic holds.

    ``split_keys`` were found in more than one partition, ``misplaced_keys`` in another one than
    murmur2 says. Both are examples; ``split`` and ``misplaced`` are how many there are.
    """

    contents: Mapping[int, PartitionContents]
    split: int = 0
    misplaced: int = 0
    split_keys: Mapping[bytes, tuple[int, ...]] = field(default_factory=dict)
    misplaced_keys: Mapping[bytes, int] = field(default_factory=dict)


def survey_topic(
    admin: Admin,
    log_source: LogSource,
    topic: str,
    report: SurveyProgress | None = None,
    *,
    key_suffix_bytes: int = 0,
) -> Survey:
    """Read the topic up to its end as of now, or up to the first open transaction.

    Keeps every key in memory while it reads. ``report`` is called with its progress.
    ``key_suffix_bytes`` at the end of a key (the times of a window) do not choose its partition.
    """
    partitions = range(admin.describe(topic).partitions)
    bounds = admin.bounds(topic, partitions)
    ranges = {partition: (each.start, each.stable_end) for partition, each in bounds.items()}
    batches: Iterator[Batch] = log_source.read(topic, ranges)
    if report is not None:
        batches = _reported(batches, ranges, report)
    return survey(batches, Keyspace(len(partitions), key_suffix_bytes))


def _reported(
    batches: Iterable[Batch], ranges: Mapping[int, tuple[int, int]], report: SurveyProgress
) -> Iterator[Batch]:
    at = {partition: start for partition, (start, _) in ranges.items()}
    begin, total = sum(at.values()), sum(end - start for start, end in ranges.values())
    for batch in batches:
        yield batch
        at[batch.partition] = batch.next_offset
        report(sum(at.values()) - begin, total)


def survey(batches: Iterable[Batch], keyspace: Keyspace) -> Survey:
    """Count what these batches hold; those of one partition come in order."""
    counts = {partition: _Counts() for partition in range(keyspace.partitions)}
    for batch in batches:
        counts[batch.partition].add(batch)
    homes: dict[bytes, int] = {}
    split: dict[bytes, set[int]] = {}
    strays: dict[bytes, int] = {}
    for partition, count in counts.items():
        count.leave_out_fences()
        keys = list(count.sizes)
        for key in keys:
            home = homes.setdefault(key, partition)
            if home != partition:
                split.setdefault(key, {home}).add(partition)
        elsewhere = keyspace.misplaced(keys, partition)
        strays |= {keys[i]: partition for i in elsewhere.tolist()}
    return Survey(
        contents={partition: count.contents() for partition, count in counts.items()},
        split=len(split),
        misplaced=len(strays),
        split_keys={key: tuple(sorted(split[key])) for key in sorted(split)[:EXAMPLES_MAX]},
        misplaced_keys={key: strays[key] for key in sorted(strays)[:EXAMPLES_MAX]},
    )


class _Counts:
    """The counts of one partition so far; ``sizes`` has each key's last record, None if deleted."""

    def __init__(self) -> None:
        self.records = self.tombstones = self.keyless = self.record_bytes = 0
        self.sizes: dict[bytes, int | None] = {}
        self._fences = 0

    def add(self, batch: Batch) -> None:
        self.records += len(batch)
        self.record_bytes += batch.size_bytes
        contents = batch.contents()
        self.keyless += contents.keyless
        self.tombstones += contents.tombstones
        self.sizes.update(contents.sizes)

    def leave_out_fences(self) -> None:
        """Fence records are in every partition and are no rows; compaction keeps the last one."""
        self._fences = int(FENCE_KEY in self.sizes)
        self.sizes.pop(FENCE_KEY, None)

    def contents(self) -> PartitionContents:
        alive = [size for size in self.sizes.values() if size is not None]
        return PartitionContents(
            records=self.records,
            live_keys=len(alive),
            duplicates=self.records - self.keyless - len(self.sizes) - self._fences,
            tombstones=self.tombstones,
            keyless=self.keyless,
            record_bytes=self.record_bytes,
            live_bytes=sum(alive),
        )
