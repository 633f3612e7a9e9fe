"""Who takes part: each as the command that runs it in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from arena.dataset import Dataset, sample_step
from arena.programs import BUILD, c_program, java_program

# What was measured to suit librdkafka: the default backoff of a second starves the reader.
LIBRDKAFKA = {
    "enable.auto.commit": "false",
    "fetch.queue.backoff.ms": "5",
    "max.partition.fetch.bytes": str(2 << 20),
    "queued.max.messages.kbytes": str(32 << 10),
    "queued.min.messages": "50000",
}
# What was measured to suit Kafka Streams: with its defaults it is up to a third slower.
KAFKA_STREAMS = {
    "global.consumer.max.poll.records": "10000",
    "global.consumer.max.partition.fetch.bytes": str(4 << 20),
    "global.consumer.receive.buffer.bytes": str(1 << 20),
}


@dataclass(frozen=True)
class Contestant:
    """``state_dir`` is where it keeps what survives it; None when nothing does."""

    name: str
    label: str
    command: Sequence[str]
    state_dir: Path | None = None


def lastword(
    dataset: Dataset, servers: str, store: str, *, reads: int = 0, settle: bool = False
) -> Contestant:
    """Lastword as a user opens it: every check on, keys and values as of the topic.

    With ``settle`` it ends when its store has nothing left to compact.
    """
    state_dir = BUILD / "state" / f"lastword-{store}"
    command = _module("arena.run_lastword", dataset, servers)
    command += ["--store", store, "--state-dir", str(state_dir), "--reads", str(reads)]
    command += ["--settle"] if settle else []
    return Contestant(f"lastword-{store}", f"Lastword, {_title(store)}", command, state_dir)


def lastword_from_snapshot(
    dataset: Dataset, servers: str, store: str, snapshots: Path
) -> Contestant:
    """The same, with a snapshot to start from."""
    plain = lastword(dataset, servers, store)
    return replace(
        plain,
        name=f"snapshot-{store}",
        label=f"Lastword, {_title(store)}, from a snapshot",
        command=[*plain.command, "--snapshots", str(snapshots)],
    )


def kafka_streams(dataset: Dataset, servers: str, store: str, *, reads: int = 0) -> Contestant:
    """A GlobalKTable: the part of Kafka Streams that does what a table does."""
    state_dir = BUILD / "state" / f"streams-{store}"
    shape = [str(dataset.keys_drawn), str(sample_step(dataset.keys_drawn)), str(reads)]
    settings = _assignments({"bootstrap.servers": servers, **KAFKA_STREAMS})
    command = [
        *java_program("GlobalTable"),
        store,
        dataset.topic,
        str(state_dir),
        *shape,
        *settings,
    ]
    return Contestant(f"streams-{store}", f"Kafka Streams, {_title(store)}", command, state_dir)


def plain_python(dataset: Dataset, servers: str) -> Contestant:
    """What one writes by hand: ``consume`` and a dict, with good settings and no checks."""
    command = _module("arena.run_confluent", dataset, servers)
    command += ["--settings", *_assignments(LIBRDKAFKA)]
    return Contestant("confluent-dict", "confluent_kafka and a dict", command)


def plain_c(dataset: Dataset, servers: str, mode: str) -> Contestant:
    """librdkafka without Python, ``read`` only or into a hash ``table``."""
    shape = [str(dataset.partitions), str(dataset.keys_drawn), str(sample_step(dataset.keys_drawn))]
    settings = _assignments({"bootstrap.servers": servers, "group.id": "benchmark", **LIBRDKAFKA})
    command = [str(c_program()), mode, dataset.topic, *shape, *settings]
    what = "reading only" if mode == "read" else "a hash table"
    return Contestant(f"c-{mode}", f"librdkafka from C, {what}", command)


def _module(name: str, dataset: Dataset, servers: str) -> list[str]:
    where = ["--topic", dataset.topic, "--partitions", str(dataset.partitions)]
    where += ["--bootstrap-servers", servers, "--keys-drawn", str(dataset.keys_drawn)]
    return [sys.executable, "-m", name, *where]


def _assignments(settings: dict[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in settings.items()]


def _title(store: str) -> str:
    return {"memory": "memory", "rocksdb": "RocksDB"}[store]
