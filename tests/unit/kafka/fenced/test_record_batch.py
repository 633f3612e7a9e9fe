from __future__ import annotations

import random

import pytest

from lastword.kafka.admin.wire import kafka_python_imported
from lastword.kafka.write.fenced.fence import Holder
from lastword.kafka.write.fenced.record_batch import encode_batch
from lastword.records import Write

with kafka_python_imported():
    from kafka.record.default_records import DefaultRecordBatchBuilder as Builder

HOLDER = Holder(4_000_000_000, 3)
NOW_MS = 1_800_000_000_000


def by_the_library(records: list[Write], sequence: int) -> bytes:
    batch = Builder(2, Builder.CODEC_LZ4, False, *HOLDER, sequence, 1 << 31)
    for i, record in enumerate(records):
        batch.append(i, record.timestamp_ms or NOW_MS, record.key, record.value, record.headers)
    return bytes(batch.build())


def some(rng: random.Random, longest: int) -> bytes:
    size = rng.choice((0, 1, 63, 64, 127, longest))
    return rng.randbytes(size) if rng.random() < 0.5 else bytes(size)


def random_write(rng: random.Random) -> Write:
    value = None if rng.random() < 0.2 else some(rng, 20_000)
    names = rng.sample(["a", "trace", "größe", "x" * 200], rng.randrange(4))
    headers = tuple((name, None if rng.random() < 0.2 else some(rng, 300)) for name in names)
    at_ms = rng.choice((None, NOW_MS, NOW_MS - rng.randrange(1 << 40), NOW_MS + 5, 1))
    return Write(b"k" + some(rng, 9_000), value, headers, at_ms)


@pytest.mark.parametrize("seed", range(50))
def test_a_batch_has_the_same_bytes_as_that_of_the_library(seed: int) -> None:
    rng = random.Random(seed)
    records = [random_write(rng) for _ in range(rng.choice((1, 2, 33, 130)))]
    sequence = rng.choice((0, 2**31 - 1))
    assert encode_batch(records, HOLDER, sequence, NOW_MS) == by_the_library(records, sequence)


def test_a_batch_that_compression_does_not_shrink_is_sent_as_it_is() -> None:
    records = [Write(b"k", b"v")]
    assert encode_batch(records, HOLDER, 0, NOW_MS) == by_the_library(records, 0)
    assert encode_batch(records, HOLDER, 0, NOW_MS).endswith(b"\x02k\x02v\x00")
