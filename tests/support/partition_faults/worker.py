"""An instance of a partitioned table whose threads write and read, each with a record of it.

Started with ``python -m tests.support.partition_faults.worker OPTIONS``, where the options are
JSON. Answers each line of its input with one line of JSON, and leaves in order at the end of it.
"""

from __future__ import annotations

import json
import logging
import os
import random
import sys
import threading
import time
from pathlib import Path
from typing import Any

import msgspec

from lastword.cluster.peers import PeerSettings
from lastword.errors import LastwordError
from lastword.records import Position
from lastword.table.table import Table
from tests.support.partition_faults.reading import GET, Reader

WRITE_EVERY_S = 0.03
DELETED = 0.1
KEYS = 64


class Reading(msgspec.Struct):
    """How many threads read, how often each does, and the shares of the kinds of reads."""

    threads: int = 2
    every_s: float = 0.01
    kinds: dict[str, int] = msgspec.field(default_factory=lambda: {GET: 1})


class History:
    """What was done and how it ended, one line of JSON each; times are of the machine's clock."""

    def __init__(self, path: Path) -> None:
        # Each line is one write at the end of the file, so threads need no lock.
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def add(self, line: list[Any]) -> None:
        os.write(self._file, msgspec.json.encode(line) + b"\n")


class Load:
    """One writer per partition and some readers, until it is stopped."""

    def __init__(
        self,
        table: Table,
        name: str,
        history: History,
        stopping: threading.Event,
        reading: Reading,
    ) -> None:
        self._table, self._name, self._history = table, name, history
        self._stopping, self._reading = stopping, reading
        partition_of = table.raw.keyspace.partition_of
        self._keys: dict[int, list[str]] = {}
        for number in range(KEYS):
            key = f"key-{number:02}"
            self._keys.setdefault(partition_of(key.encode()), []).append(key)
        works = [
            *[(self._write, p) for p in self._keys],
            *[(self._read, n) for n in range(reading.threads)],
        ]
        self._threads = [threading.Thread(target=work, args=(n,)) for work, n in works]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _write(self, partition: int) -> None:
        dice = random.Random(f"{self._name}-{partition}")
        written = 0
        while not self._stopping.wait(WRITE_EVERY_S):
            written += 1
            key = dice.choice(self._keys[partition])
            value = f"{self._name}:{partition}:{written}:{time.monotonic_ns()}"
            if dice.random() < DELETED:
                value = None
            began = time.monotonic()
            try:
                version = self._table.delete(key) if value is None else self._table.put(key, value)
            except LastwordError as error:
                said: list[Any] = [type(error).__name__, key, value, 0]
            else:
                said = ["ok", key, value, version.offset]
            self._history.add(["w", partition, began, time.monotonic(), *said])

    def _read(self, number: int) -> None:
        owned, name = self._table.raw.owned, f"{self._name}-{number}"
        assert owned is not None
        kinds = self._reading.kinds
        reader = Reader(self._table, self._keys, lambda: owned.owned_partitions, kinds, name)
        while not self._stopping.wait(self._reading.every_s):
            self._history.add(reader.read())


def follow(table: Table, path: Path, stopping: threading.Event) -> None:
    """Write down every change and the position after it; go on where an earlier life stopped."""
    seen = path.read_text().splitlines() if path.exists() else []
    whole = [line for line in seen if line.endswith(";")]
    start = Position.parse(whole[-1].split()[2].rstrip(";")) if whole else None
    with path.open("a", buffering=1) as file:
        if seen and not seen[-1].endswith(";"):
            file.write("\n")  # a killed process may leave a part of a line
        with table.watch(start) as watch:
            while not stopping.is_set():
                change = watch.take(0.2)
                if change is not None and change.version is not None:
                    file.write(f"{change.version} {change.deleted} {watch.position};\n")


def held(table: Table) -> dict[str, Any]:
    """What is ready and owned here, and what the last plan wants to be so."""
    parts = table._lifecycle.parts
    assert parts.shared is not None
    cluster = parts.shared._placement.cluster
    owned = table.raw.owned
    assert owned is not None
    said: dict[str, Any] = {
        "ready": sorted(p for p, replica in parts.replicas.held.items() if replica.ready),
        "owned": sorted(owned.owned_partitions),
        "leads": cluster.leads,
    }
    plan = cluster.plan
    if plan is not None:
        owners = plan.owners.get(table.topic, [])
        copies = [plan.copies(table.topic, p) for p in range(len(owners))]
        mine = [p for p, each in enumerate(copies) if cluster.instance_id in {c[0] for c in each}]
        said |= {
            "plan": plan.number,
            "members": len(plan.members),
            "moves": bool(plan.moves),
            "copies": sum(map(len, copies)),
            "to_be_ready": mine,
            "to_be_owned": [p for p, name in enumerate(owners) if name == cluster.instance_id],
        }
    return said


def main() -> None:
    options = json.loads(sys.argv[1])
    path = Path(options.pop("history"))
    logging.basicConfig(
        filename=path.with_suffix(".log"),
        level=logging.INFO,
        format="%(asctime)s %(name)s %(levelname)s %(message)s",
    )
    logging.getLogger("kafka").setLevel(logging.WARNING)
    topic, history = options.pop("topic"), History(path)
    reading = msgspec.convert(options.pop("reading", {}), Reading)
    options["peer"] = PeerSettings(**options["peer"])
    stopping = threading.Event()
    with Table(topic, layout="partitioned", writes="owned", store="rocksdb", **options) as table:
        changes = path.with_suffix(".changes")
        watching = threading.Thread(target=follow, args=(table, changes, stopping))
        watching.start()
        load = Load(table, options["instance_id"], history, stopping, reading)
        for line in sys.stdin:
            command, _, name = line.strip().partition(" ")
            if command == "drain":
                parts = table._lifecycle.parts
                assert parts.shared is not None
                parts.shared._placement.cluster.drain(name)
            sys.stdout.write(json.dumps(held(table)) + "\n")
            sys.stdout.flush()
        stopping.set()
        load.join()
        watching.join()


if __name__ == "__main__":
    main()
