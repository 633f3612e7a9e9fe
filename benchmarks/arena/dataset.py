"""The topic that every contestant reads, and what each must find in it.

Keys are drawn at random with a fixed seed, so that the right answer is known without reading the
topic: the number of live keys, and a checksum over the values of a sample of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

VALUE_BYTES = 100
_SEED = 7
_FLUSH_TIMEOUT_S = 120
_MASK = (1 << 64) - 1

Numbers = np.ndarray[Any, np.dtype[np.int64]]


def key_of(number: int) -> bytes:
    """The key of id ``number``."""
    return b"user-%07d" % number


def value_of(number: int, sequence: int) -> bytes:
    """A JSON object of exactly VALUE_BYTES that names its key and the record it came with."""
    fields = b'{"id":"user-%07d","seq":%d,"email":"user-%d@example.com","note":"' % (
        number,
        sequence,
        number,
    )
    return fields + b"x" * (VALUE_BYTES - 2 - len(fields)) + b'"}'


def fnv1a(data: bytes) -> int:
    """The 64-bit FNV-1a hash: a few lines in each language that has to check a sample."""
    checksum = 0xCBF29CE484222325
    for byte in data:
        checksum = (checksum ^ byte) * 0x100000001B3 & _MASK
    return checksum


def sample_checksum(values: Iterable[bytes | None]) -> str:
    """One number for the values of the sample, in any order; absent keys do not count."""
    checksum = 0
    for value in values:
        if value is not None:
            checksum ^= fnv1a(value)
    return f"{checksum:016x}"


def sample_step(keys_drawn: int) -> int:
    """The sample is every so many-th key: a thousand of them."""
    return max(1, keys_drawn // 1000)


def sample_keys(keys_drawn: int) -> list[bytes]:
    """The keys whose values are checked."""
    return [key_of(number) for number in range(0, keys_drawn, sample_step(keys_drawn))]


@dataclass(frozen=True)
class Expected:
    """The right answer: what a table of a topic holds."""

    records: int
    keys: int
    checksum: str

    @classmethod
    def after(cls, numbers: Numbers, keys_drawn: int) -> Expected:
        """What is there once one record for each of ``numbers`` was written."""
        last = np.full(keys_drawn, -1, dtype=np.int64)
        last[numbers] = np.arange(len(numbers))  # the last write of a number wins
        sample = range(0, keys_drawn, sample_step(keys_drawn))
        values = (value_of(i, int(last[i])) for i in sample if last[i] >= 0)
        return cls(len(numbers), int((last >= 0).sum()), sample_checksum(values))

    def check(self, who: str, answer: Mapping[str, object]) -> None:
        """Raise unless ``who`` reports some of these facts, and each of them right."""
        topic_state = {"records": self.records, "keys": self.keys, "checksum": self.checksum}
        reported = topic_state.keys() & answer.keys()
        wrong = [
            f"{name} is {answer[name]}, not {topic_state[name]}"
            for name in sorted(reported)
            if answer[name] != topic_state[name]
        ]
        if wrong or not reported:
            raise SystemExit(f"{who} gave a wrong answer: {', '.join(wrong) or answer}")


@dataclass(frozen=True)
class Dataset:
    """``records`` records over ``keys_drawn`` keys; with ``every_key_once`` each key has one."""

    records: int
    keys_drawn: int
    partitions: int = 4
    every_key_once: bool = False
    tag: str = ""

    @property
    def topic(self) -> str:
        """Named after its shape, so that a run on a broker that has it need not load it again."""
        kind = "each" if self.every_key_once else "random"
        return f"bench-{kind}-{self.records}-{self.keys_drawn}-{self.partitions}{self.tag}"

    @cached_property
    def numbers(self) -> Numbers:
        """The key of each record, as its number."""
        random = np.random.default_rng(_SEED)
        if self.every_key_once:
            return random.permutation(self.keys_drawn)[: self.records]
        return random.integers(0, self.keys_drawn, self.records)

    @cached_property
    def expected(self) -> Expected:
        """What a table of this topic holds."""
        return Expected.after(self.numbers, self.keys_drawn)


def load(dataset: Dataset, bootstrap_servers: str) -> None:
    """Make the topic and fill it, unless it is there already."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    there = _records_there(admin, dataset)
    if there == dataset.records:
        return
    if there:
        raise SystemExit(
            f"{dataset.topic} holds {there} of {dataset.records} records; "
            f"remove it: lastword topic delete {dataset.topic}"
        )
    # One large segment: the active one is never compacted, so every record stays.
    config = {"cleanup.policy": "compact", "segment.bytes": str(1 << 30)}
    admin.create_topics([NewTopic(dataset.topic, dataset.partitions, 1, config=config)])[
        dataset.topic
    ].result(30)
    produce(dataset.topic, dataset.numbers.tolist(), 0, bootstrap_servers)


def produce(
    topic: str, numbers: Sequence[int], first_sequence: int, bootstrap_servers: str
) -> None:
    """Append one record for each of ``numbers``."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "partitioner": "murmur2_random",
            "compression.type": "lz4",
            "linger.ms": 20,
            "queue.buffering.max.messages": 500_000,
            "queue.buffering.max.kbytes": 256 << 10,
            "enable.idempotence": True,
            "log_level": 3,  # a broker that has just started makes a producer retry: no news
        }
    )
    for sequence, number in enumerate(numbers, first_sequence):
        while True:
            try:
                producer.produce(topic, value_of(number, sequence), key_of(number))
                break
            except BufferError:
                producer.poll(1)
    if left := producer.flush(_FLUSH_TIMEOUT_S):
        raise SystemExit(f"{left} records could not be written to {topic}")


def _records_there(admin: AdminClient, dataset: Dataset) -> int:
    if dataset.topic not in admin.list_topics(timeout=10).topics:
        return 0
    places = [TopicPartition(dataset.topic, p) for p in range(dataset.partitions)]
    ends = admin.list_offsets({place: OffsetSpec.latest() for place in places})
    return sum(end.result(30).offset for end in ends.values())
