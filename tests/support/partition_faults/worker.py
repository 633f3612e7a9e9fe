"""An instance of a partitioned table whose threads write and read, each with a record of it.

Started with ``python -m tests.support.partition_faults.worker OPTIONS``, where the options are
JSON. Answers each line of its input with one line of JSON, and leaves in order at the end of it.
"""

from __future__ import annotations

import json
import logging
import random
import sys
import threading
import time
from pathlib import Path
from typing import Any

from lastword.cluster.peers import PeerSettings
from lastword.errors import LastwordError
from lastword.records import Position
from lastword.table.table import Table

WRITE_EVERY_S = 0.03
READ_EVERY_S = 0.01
READERS = 2
KEYS = 64


class History:
    """What was done and how it ended, one line of JSON each; times are of the machine's clock."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._file = path.open("a", buffering=1)

    def add(self, *line: Any) -> None:
        text = json.dumps(line) + "\n"
        with self._lock:
            self._file.write(text)


class Load:
    """One writer per partition and a few readers, until it is stopped."""

    def __init__(
        self,
        table: Table,
        name: str,
        history: History,
        stopping: threading.Event,
        read_every_s: float,
    ) -> None:
        self._table, self._name, self._history = table, name, history
        self._stopping, self._read_every_s = stopping, read_every_s
        partition_of = table.raw.keyspace.partition_of
        self._keys: dict[int, list[str]] = {}
        for number in range(KEYS):
            key = f"key-{number}"
            self._keys.setdefault(partition_of(key.encode()), []).append(key)
        works = [
            *[(self._write, p) for p in self._keys],
            *[(self._read, n) for n in range(READERS)],
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
            began = time.monotonic()
            try:
                version = self._table.put(key, value)
            except LastwordError as error:
                self._history.add("w", partition, began, time.monotonic(), named(error), value, 0)
            else:
                ended = time.monotonic()
                self._history.add("w", partition, began, ended, "ok", value, version.offset)

    def _read(self, number: int) -> None:
        dice = random.Random(f"{self._name}-{number}")
        while not self._stopping.wait(self._read_every_s):
            partition = dice.choice(list(self._keys))
            key = dice.choice(self._keys[partition])
            began = time.monotonic()
            try:
                answer = self._table.query.get(key)
            except LastwordError as error:
                said: list[Any] = [named(error), key, None, -1, 0.0, ""]
            else:
                value = None if answer.value is None else answer.value.value
                position = answer.position.offsets[partition]
                (answered_by,) = answer.answered_by
                said = ["ok", key, value, position, answer.staleness_s, answered_by]
            self._history.add("r", partition, began, time.monotonic(), *said)


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


def named(error: LastwordError) -> str:
    return type(error).__name__


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
    read_every_s = options.pop("read_every_s", READ_EVERY_S)
    options["peer"] = PeerSettings(**options["peer"])
    stopping = threading.Event()
    with Table(topic, layout="partitioned", writes="owned", store="rocksdb", **options) as table:
        changes = path.with_suffix(".changes")
        watching = threading.Thread(target=follow, args=(table, changes, stopping))
        watching.start()
        load = Load(table, options["instance_id"], history, stopping, read_every_s)
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
