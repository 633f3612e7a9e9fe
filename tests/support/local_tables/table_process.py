"""A table in a separate process, to be killed, stopped and asked from a test.

The child reads one command per line and answers each with one line of JSON; started with
``python -m tests.support.local_tables.table_process OPTIONS``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lastword.stores.base import Capabilities
from lastword.stores.rocksdb import RocksDBStore
from lastword.table.table import Table
from lastword.testing import wait_until
from tests.support.child_process import ChildProcess


class TableProcess(ChildProcess):
    """The parent's side. ``options`` are those of a Table; keys and values are text."""

    def __init__(self, topic: str, **options: Any) -> None:
        super().__init__("tests.support.local_tables.table_process", topic, json.dumps(options))

    @property
    def pid(self) -> int:
        return self._process.pid

    def said(self, what: str) -> list[Any]:
        """Everything the child has said under this name so far."""
        return [line[what] for line in list(self.lines) if what in line]

    def wait_for(self, what: str, times: int = 1, timeout: float = 180.0) -> Any:
        """What the child said under this name for the ``times``-th time."""
        wait_until(lambda: len(self.said(what)) >= times or self.ended, what, timeout=timeout)
        assert len(self.said(what)) >= times, f"the child ended; it said {self.lines[-3:]}"
        return self.said(what)[times - 1]

    def ask(self, command: str) -> Any:
        """The child's answer to a command."""
        times = len(self.said(command)) + 1
        self.tell(command)
        return self.wait_for(command, times)


class TableProcesses(ExitStack):
    """Starts table processes and kills those still there after the test."""

    def __init__(self, servers: str, state_dir: Path) -> None:
        super().__init__()
        self._options = {"bootstrap_servers": servers, "state_dir": str(state_dir)}

    def start(self, topic: str, **options: Any) -> TableProcess:
        process = TableProcess(topic, **self._options | options)
        self.callback(process.kill)
        return process


class SmallBatches(RocksDBStore):
    """Applies often while restoring, so that a kill finds a restore half done."""

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(persistent=True, restore_batch_bytes=100_000)


def small_batches(_partition: int, path: Path) -> SmallBatches:
    return SmallBatches(path)


def small_files(_partition: int, path: Path) -> SmallBatches:
    """The same, and every batch becomes a sorted file."""
    return SmallBatches(path, ingest_bytes_min=1)


STORES: dict[str, Any] = {"small-batches": small_batches, "small-files": small_files}


class _Teller:
    """Says how far a restore has come."""

    def on_start(self, _topic: str, _partition: int, start: int, end: int) -> None:
        say("restoring", [start, end])

    def on_batch(self, _topic: str, _partition: int, position: int, _records: int) -> None:
        say("restored", position)

    def on_end(self, _topic: str, _partition: int, _records: int) -> None:
        say("live", True)


def say(what: str, content: Any) -> None:
    sys.stdout.write(json.dumps({what: content}) + "\n")
    sys.stdout.flush()


def write_on(table: Table, commands: Iterator[str]) -> None:
    """Put and delete until killed; say each key that was acknowledged and how often."""
    for n in range(10**9):
        key = f"key-{n % 50}"
        if n % 7 == 3:
            table.delete(key)
            say("acknowledged", [key, None])
        else:
            table.put(key, str(n))
            say("acknowledged", [key, str(n)])


def answer(table: Table, command: str) -> Any:
    if command == "rows":
        return dict(table.items())
    if command == "stale":
        return table.query.count().stale
    if command == "swept":
        return table.metrics.counter("swept_keys_total").value
    raise AssertionError(f"no such command: {command}")


def main() -> None:
    topic, options = sys.argv[1], json.loads(sys.argv[2])
    options["store"] = STORES.get(options.get("store"), options.get("store", "memory"))
    commands = (line.strip() for line in sys.stdin)
    with Table(topic, value="string", restore_listener=_Teller(), **options) as table:
        say("ready", dict(table.items()))
        for command in commands:
            if command == "write on":
                write_on(table, commands)
            say(command, answer(table, command))


if __name__ == "__main__":
    main()
