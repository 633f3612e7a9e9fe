"""Estimates the cost of a compaction, a Bloom filter or a restore.

Plain arithmetic on numbers that the caller measured. The formulas are in the docstrings; sizes
are in bytes, times in seconds, rates per second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from lastword.errors import ConfigError

MIB = 1024 * 1024
GIB = 1024 * MIB

# Kafka's offset map keeps an MD5 hash (16 bytes) and an offset (8 bytes) per key, is filled up
# to log.cleaner.io.buffer.load.factor, and has log.cleaner.dedupe.buffer.size for all threads.
OFFSET_MAP_ENTRY_BYTES = 24
OFFSET_MAP_LOAD_FACTOR = 0.9
DEDUPE_BUFFER_BYTES = 128 * MIB
# A replaced segment stays on disk for file.delete.delay.ms.
FILE_DELETE_DELAY_SECONDS = 60
# Each dirty byte costs 1 / ratio bytes of recopying: 2 at Kafka's default of 0.5, 3.3 at 0.3, 10
# at 0.1; and up to that ratio of the log is waste. 0.3 costs a little more and wastes much less.
RECOMMENDED_DIRTY_RATIO = 0.3


@dataclass(frozen=True)
class CompactionEstimate:
    """The work of the log cleaner, and the memory and disk it needs."""

    topic_bytes: int
    dirty_bytes: int
    seconds: float
    io_bytes: int
    io_seconds: float
    dirty_keys: int
    dedupe_buffer_needed: int
    passes: int
    disk_headroom_bytes: int
    recommended_dirty_ratio: float = RECOMMENDED_DIRTY_RATIO

    @property
    def fits_in_one_pass(self) -> bool:
        """Whether the dedupe buffer that was given holds all dirty keys of a partition."""
        return self.passes <= 1


@dataclass(frozen=True)
class BloomEstimate:
    """The size of a Bloom filter; ``expected_rate`` is its rate with whole hash functions."""

    items: int
    false_positive_rate: float
    bits: int
    bytes: int
    hash_functions: int
    expected_rate: float


@dataclass(frozen=True)
class RestoreEstimate:
    """How long a restore takes, and which of the two rates decides it."""

    records: int
    seconds: float
    limited_by: Literal["records", "bytes"]


def estimate_compaction(
    topic_bytes: int,
    dirty_ratio: float,
    throughput: float,
    *,
    partitions: int = 1,
    record_bytes: int = 1024,
    keys: int | None = None,
    dedupe_buffer_bytes: int = DEDUPE_BUFFER_BYTES,
    segment_bytes: int = GIB,
) -> CompactionEstimate:
    """Estimate one cleaning of a topic by one cleaner thread at ``throughput`` bytes per second.

    ``record_bytes`` is the average record on disk and ``keys`` the distinct keys of the topic;
    without ``keys`` every dirty record counts as a key of its own, which is the worst case.

    dirty_bytes          topic_bytes * dirty_ratio, Kafka's own definition of the ratio
    seconds              dirty_bytes / throughput: the dirty part, once
    dirty_keys           per partition: min(dirty_bytes / record_bytes, keys) / partitions
    dedupe_buffer_needed bytes per cleaner thread for a single pass: 24 * dirty_keys / 0.9
    passes               dirty_keys / (0.9 * slots of the buffer that was given)
    io_bytes             all that is read and written when nothing can be dropped: the dirty part
                         is read once for the keys, and each pass copies the log from its start
                         to where that pass ends
    io_seconds           io_bytes / throughput: the upper bound, and the one that applies when
                         ``throughput`` is log.cleaner.io.max.bytes.per.second or a disk's
    disk_headroom_bytes  the segment being written and the replaced ones, which stay for 60
                         seconds: segment_bytes + 60 * throughput, at most topic_bytes
    """
    _at_least(0, topic_bytes=topic_bytes)
    _at_least(1, partitions=partitions, record_bytes=record_bytes, segment_bytes=segment_bytes)
    _positive(throughput=throughput)
    if not 0 <= dirty_ratio <= 1:
        raise ConfigError(f"dirty_ratio {dirty_ratio} is not a ratio", hint="give 0.0 to 1.0")
    dirty_bytes = round(topic_bytes * dirty_ratio)
    dirty_keys = _dirty_keys(dirty_bytes, partitions, record_bytes, keys)
    passes = math.ceil(dirty_keys / _keys_per_pass(dedupe_buffer_bytes))
    io_bytes = _io_bytes(topic_bytes - dirty_bytes, dirty_bytes, passes)
    return CompactionEstimate(
        topic_bytes=topic_bytes,
        dirty_bytes=dirty_bytes,
        seconds=dirty_bytes / throughput,
        io_bytes=io_bytes,
        io_seconds=io_bytes / throughput,
        dirty_keys=dirty_keys,
        dedupe_buffer_needed=OFFSET_MAP_ENTRY_BYTES
        * math.ceil(dirty_keys / OFFSET_MAP_LOAD_FACTOR),
        passes=passes,
        disk_headroom_bytes=min(
            topic_bytes, round(segment_bytes + FILE_DELETE_DELAY_SECONDS * throughput)
        ),
    )


def estimate_bloom(items: int, false_positive_rate: float) -> BloomEstimate:
    """Size a Bloom filter for ``items`` at ``false_positive_rate``.

    bits            m = -n * ln(p) / ln(2)^2, whole bits
    hash_functions  k = m / n * ln(2), rounded: 6.64 becomes 7, which errs less often than 6 does
    expected_rate   (1 - e^(-k * n / m))^k, a little above p because k is a whole number

    >>> estimate_bloom(1_000_000, 0.01).bits
    9585058
    """
    _at_least(1, items=items)
    if not 0 < false_positive_rate < 1:
        raise ConfigError(
            f"a false-positive rate of {false_positive_rate} is not possible",
            hint="give a rate between 0 and 1, both excluded, such as 0.01",
        )
    bits = max(1, int(-items * math.log(false_positive_rate) / math.log(2) ** 2))
    hash_functions = max(1, round(bits / items * math.log(2)))
    return BloomEstimate(
        items=items,
        false_positive_rate=false_positive_rate,
        bits=bits,
        bytes=math.ceil(bits / 8),
        hash_functions=hash_functions,
        expected_rate=(1 - math.exp(-hash_functions * items / bits)) ** hash_functions,
    )


def estimate_restore(
    records: int,
    records_per_second: float,
    *,
    record_bytes: int | None = None,
    bytes_per_second: float | None = None,
) -> RestoreEstimate:
    """Estimate the restore of ``records`` still in the log from rates that were measured.

    seconds = records / records_per_second, or records * record_bytes / bytes_per_second where
    the network or the disk is given and takes longer.
    """
    _at_least(0, records=records)
    _positive(records_per_second=records_per_second)
    if (record_bytes is None) != (bytes_per_second is None):
        raise ConfigError(
            "record_bytes and bytes_per_second must be given together",
            hint="give both or none",
        )
    seconds = records / records_per_second
    if record_bytes is not None and bytes_per_second is not None:
        _at_least(1, record_bytes=record_bytes)
        _positive(bytes_per_second=bytes_per_second)
        by_bytes = records * record_bytes / bytes_per_second
        if by_bytes > seconds:
            return RestoreEstimate(records, by_bytes, "bytes")
    return RestoreEstimate(records, seconds, "records")


def _dirty_keys(dirty_bytes: int, partitions: int, record_bytes: int, keys: int | None) -> int:
    dirty = math.ceil(dirty_bytes / record_bytes)
    if keys is not None:
        _at_least(0, keys=keys)
        dirty = min(dirty, keys)
    return math.ceil(dirty / partitions)


def _keys_per_pass(dedupe_buffer_bytes: int) -> int:
    keys = int(dedupe_buffer_bytes // OFFSET_MAP_ENTRY_BYTES * OFFSET_MAP_LOAD_FACTOR)
    if keys < 1:
        raise ConfigError(
            f"a dedupe buffer of {dedupe_buffer_bytes} bytes holds no key",
            hint="Kafka's default of log.cleaner.dedupe.buffer.size is 134217728",
        )
    return keys


def _io_bytes(clean_bytes: int, dirty_bytes: int, passes: int) -> int:
    """The dirty part for the keys, then per pass i reading and writing clean + i/passes dirty."""
    copied = passes * clean_bytes + dirty_bytes * (passes + 1) / 2
    return round(dirty_bytes + 2 * copied) if passes else 0


def _at_least(least: int, **numbers: int) -> None:
    for name, number in numbers.items():
        if number < least:
            raise ConfigError(f"{name} is {number}", hint=f"give a whole number from {least} up")


def _positive(**rates: float) -> None:
    for name, rate in rates.items():
        if not (rate > 0 and math.isfinite(rate)):
            raise ConfigError(f"{name} is {rate}", hint="give a rate per second above 0")
