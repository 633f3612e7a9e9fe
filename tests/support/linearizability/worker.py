"""An instance of an owned table whose threads write in every way that it has, and read.

Runs until its standard input is closed, then leaves in order; or until it is killed. Started with
``python -m tests.support.linearizability.worker OPTIONS``, where the options are JSON.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from lastword.cluster import cluster
from lastword.cluster.peers import PeerSettings
from lastword.errors import (
    ConflictError,
    IndeterminateError,
    LastwordError,
    NotOwnerError,
    NotReadyError,
    NotUpToPositionError,
    OverloadedError,
    PartitionNotHereError,
    TableClosedError,
    WriteFailedError,
)
from lastword.kafka.write.fenced.transactional_log import TransactionalLog
from lastword.records import ABSENT, Version
from lastword.table.entry import Entry
from lastword.table.table import Table
from lastword.table.writing import owned_topic
from tests.support.linearizability.history import FIRST, SECOND, Operation, Recorder

# What these say is checked: a write that failed with one of them must not be in the log.
NOT_WRITTEN = (
    NotOwnerError,
    NotReadyError,
    OverloadedError,
    PartitionNotHereError,
    TableClosedError,
    WriteFailedError,
)
Way = Literal["plain", "transactions"]
"""How owners append; the product uses transactions where brokers do not keep the plain fence."""
PLAIN: Way = "plain"
TRANSACTIONS: Way = "transactions"
KEYS_PER_EPOCH = 4
EPOCH_S = 10.0
LOOK_EVERY_S = 0.02
READERS = 2
_PAUSE_AFTER_FAILURE_S = 0.05


class Client:
    """One thread's operations, each recorded."""

    def __init__(
        self,
        table: Table,
        recorder: Recorder,
        dice: random.Random,
        name: str,
        pause: Callable[[float], object],
    ) -> None:
        self._table = table
        self._recorder = recorder
        self._dice = dice
        self._name = name
        self._pause = pause
        self._written = 0
        self._seen: dict[str, tuple[Version | None, Any]] = {}

    def step(self) -> None:
        """One operation of any kind on a key that others use, too."""
        weights = {
            self._read: 30,
            self._put: 10,
            self._cas: 15,
            self._delete: 4,
            self._increment: 15,
            self._append: 3,
            self._update: 3,
            self._merge: 5,
            self._put_if_greater: 5,
            self._transact: 10,
        }
        kind = self._dice.choices([*weights], [*weights.values()])[0]
        kind()

    def look(self) -> None:
        """Only reads, at short intervals: a zombie that wakes up answers with what it knew."""
        self._read()
        self._pause(LOOK_EVERY_S)

    def _key(self, family: str) -> str:
        """Keys change every now and then, so that the history of each stays short."""
        epoch = int(time.monotonic() / EPOCH_S)
        return f"{family}-{epoch}-{self._dice.randrange(KEYS_PER_EPOCH)}"

    def _pair(self) -> str:
        """A pair whose keys are in one partition, as a transaction needs them."""
        name, partition_of = self._key("t"), self._table.raw.keyspace.partition_of
        pairs = (f"{name}.{number}" for number in itertools.count())
        return next(
            pair
            for pair in pairs
            if partition_of((pair + FIRST).encode()) == partition_of((pair + SECOND).encode())
        )

    def _value(self) -> str:
        self._written += 1
        return f"{self._name}:{self._written}"

    def _put(self) -> None:
        key, value = self._key("r"), self._value()
        self._run(
            self._recorder.begin("put", key, value=value),
            lambda: {"version": str(self._table.put(key, value))},
        )

    def _delete(self) -> None:
        key = self._key("r")
        self._run(
            self._recorder.begin("delete", key),
            lambda: {"version": str(self._table.delete(key))},
        )

    def _read(self) -> None:
        family = self._dice.choice("rrrrccamgtt")
        key = (
            self._pair() + self._dice.choice((FIRST, SECOND))
            if family == "t"
            else self._key(family)
        )

        def read() -> dict[str, Any]:
            entry = self._table.entry(key, consistency="linearizable")
            self._seen[key] = (None, None) if entry is None else (entry.version, entry.value)
            return described(entry)

        self._run(self._recorder.begin("read", key), read)

    def _cas(self) -> None:
        key, value = self._key("r"), self._value()
        version, seen = self._seen.get(key, (None, None))
        text = None if version is None else str(version)
        operation = self._recorder.begin(
            "cas", key, value=value, expected=text, expected_value=seen
        )

        def write() -> dict[str, Any]:
            written = self._table.put(key, value, if_version=version or ABSENT)
            self._seen[key] = written, value
            return {"version": str(written)}

        self._run(operation, write)

    def _increment(self) -> None:
        key, by = self._key("c"), self._dice.randrange(1, 4)
        self._run(
            self._recorder.begin("increment", key, value=by),
            lambda: described(self._table.increment(key, by)),
        )

    def _append(self) -> None:
        key, value = self._key("a"), self._value()
        self._run(
            self._recorder.begin("append", key, value=value),
            lambda: described(self._table.append(key, value)),
        )

    def _update(self) -> None:
        """Appends as well: where the owner is another instance, by a read and a condition."""
        key, value = self._key("a"), self._value()
        self._run(
            self._recorder.begin("append", key, value=value),
            lambda: described(self._table.update(key, lambda items: [*items, value], default=[])),
        )

    def _merge(self) -> None:
        key, changes = self._key("m"), {self._dice.choice("abc"): self._value()}
        self._run(
            self._recorder.begin("merge", key, value=changes),
            lambda: described(self._table.merge(key, changes)),
        )

    def _put_if_greater(self) -> None:
        """Numbers that grow with time, but not all of them; no two are equal."""
        about_ms = int(time.monotonic() * 1000) + self._dice.randrange(200)
        key, value = self._key("g"), about_ms * 10**5 + self._dice.randrange(10**5)
        self._run(
            self._recorder.begin("put_if_greater", key, value=value),
            lambda: described(self._table.put_if_greater(key, value)),
        )

    def _transact(self) -> None:
        pair, value = self._pair(), self._value()
        first, second = pair + FIRST, pair + SECOND
        version, seen = self._seen.get(first, (None, None))
        text = None if version is None else str(version)
        operation = self._recorder.begin(
            "transact", pair, value=value, expected=text, expected_value=seen
        )

        def write() -> dict[str, Any]:
            condition = {first: version or ABSENT}
            written = self._table.transact({first: value, second: value}, if_version=condition)
            self._seen[first] = written[first], value
            return {"version": str(written[first]), "second_version": str(written[second])}

        self._run(operation, write)

    def _run(self, operation: Operation, call: Callable[[], dict[str, Any]]) -> None:
        try:
            told = call()
        except ConflictError as error:
            self._end_conflict(operation, error.current)
        except NotUpToPositionError as error:
            self._end_unread(operation, error)
        except NOT_WRITTEN as error:
            self._recorder.end(operation, "failed", error=type(error).__name__)
            self._pause(_PAUSE_AFTER_FAILURE_S)
        except LastwordError as error:
            self._recorder.end(operation, "unknown", error=named(error))
            if not isinstance(error, IndeterminateError):
                self._pause(_PAUSE_AFTER_FAILURE_S)
        else:
            self._recorder.end(operation, "ok", **told)

    def _end_conflict(self, operation: Operation, entry: Entry | None) -> None:
        if operation.kind not in ("cas", "transact"):  # an update that was always too late
            self._recorder.end(operation, "failed", error="ConflictError")
            return
        key = operation.key + (FIRST if operation.kind == "transact" else "")
        self._seen[key] = (None, None) if entry is None else (entry.version, entry.value)
        self._recorder.end(operation, "conflict", **described(entry))

    def _end_unread(self, operation: Operation, error: NotUpToPositionError) -> None:
        """Acknowledged, but not read back here: of a plain write the version is enough."""
        if error.version is not None and operation.kind in ("put", "cas", "delete"):
            self._recorder.end(operation, "ok", version=str(Version(*error.version)))
        else:
            self._recorder.end(operation, "unknown", error=named(error))


def described(entry: Entry | None) -> dict[str, Any]:
    """What an answer with an entry says."""
    return {} if entry is None else {"version": str(entry.version), "result": entry.value}


def named(error: LastwordError) -> str:
    """The error for people."""
    return f"{type(error).__name__}: {str(error)[:200]}"


def write_by(way: Way) -> None:
    """Have owners append by transactions although the brokers keep the fence of plain batches."""
    if way == TRANSACTIONS:
        for module in (cluster, owned_topic):
            module.open_fenced_log = TransactionalLog  # type: ignore[attr-defined]


def main() -> None:
    options = json.loads(sys.argv[1])
    name, seed = options.pop("name"), options.pop("seed")
    recorder = Recorder(Path(options.pop("history")), name)
    threads, topic = options.pop("threads"), options.pop("topic")
    options["peer"] = PeerSettings(**options["peer"])
    write_by(options.pop("way"))
    stopping = threading.Event()
    with Table(topic, writes="owned", **options) as table:

        def work(number: int) -> None:
            dice = random.Random(f"{seed}-{number}")
            client = Client(table, recorder, dice, f"{name}.{number}", stopping.wait)
            step = client.look if number >= threads else client.step
            while not stopping.is_set():
                step()

        working = [threading.Thread(target=work, args=(n,)) for n in range(threads + READERS)]
        for thread in working:
            thread.start()
        print("ready", flush=True)  # noqa: T201 - the parent waits for it
        sys.stdin.read()
        stopping.set()
        for thread in working:
            thread.join()


if __name__ == "__main__":
    main()
