"""An instance with owned writes in a process of its own, to be killed, paused and asked.

The child reads one call per line, as JSON, and answers each with one line; started with
``python -m tests.support.owned_process TOPIC OPTIONS``.
"""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from lastword.errors import ConflictError, LastwordError
from lastword.records import ABSENT, Version
from lastword.table.entry import Entry
from lastword.table.table import Table
from lastword.testing import wait_until

ROOT = Path(__file__).parent.parent.parent


class OwnedProcess:
    """The parent's side; ``call("increment", "n")`` calls the method of the child's table."""

    def __init__(self, topic: str, **options: Any) -> None:
        command = [sys.executable, "-m", "tests.support.owned_process", topic, json.dumps(options)]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._answers: dict[int, Any] = {}
        self._numbers = itertools.count(1)
        self._ended = threading.Event()
        assert self._process.stdout is not None
        threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True).start()

    def wait_ready(self) -> OwnedProcess:
        self._wait(0)
        return self

    def call(self, method: str, *arguments: Any, **options: Any) -> Any:
        """The answer to a call: a value, ``{"version", "value"}``, or ``{"error", ...}``."""
        return self._wait(self.send(method, *arguments, **options))

    def send(self, method: str, *arguments: Any, **options: Any) -> int:
        """Make a call without waiting; ``answer`` has what comes."""
        number = next(self._numbers)
        assert self._process.stdin is not None
        line = json.dumps([number, method, arguments, options])
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return number

    def answer(self, number: int) -> Any:
        return self._wait(number)

    def freeze(self) -> None:
        """Stop it (SIGSTOP) and return when it stands still."""
        self._process.send_signal(signal.SIGSTOP)
        status = Path(f"/proc/{self._process.pid}/stat")
        wait_until(lambda: status.read_text().rpartition(") ")[2][0] == "T", "a frozen process")

    def wake(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it as a crash would (SIGKILL); does nothing when it has ended."""
        self._process.kill()
        self._process.wait(60)
        assert self._ended.wait(60)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def _wait(self, number: int) -> Any:
        wait_until(lambda: number in self._answers or self._ended.is_set(), f"answer {number}")
        assert number in self._answers, "the child has ended"
        return self._answers[number]

    def _read(self, output: IO[str]) -> None:
        for line in output:
            if line.endswith("\n"):
                number, answer = json.loads(line)
                self._answers[number] = answer
        self._ended.set()


class OwnedProcesses(ExitStack):
    """Starts instances of one application and kills those still there after the test."""

    def __init__(self, servers: str, state_dir: Path) -> None:
        super().__init__()
        self._options = {"bootstrap_servers": servers, "state_dir": str(state_dir)}

    def start(self, topic: str, instance_id: str, **options: Any) -> OwnedProcess:
        given = {"application_id": topic, "writes": "owned", "instance_id": instance_id}
        process = OwnedProcess(topic, **self._options | given | options)
        self.callback(process.kill)
        return process


def repeat(table: Table, method: str, times: int, *arguments: Any) -> int:
    """Call a method many times; how often it succeeded."""
    for _ in range(times):
        getattr(table, method)(*arguments)
    return times


def add_one(table: Table, key: str, times: int) -> int:
    """Count by ``update``."""
    for _ in range(times):
        table.update(key, lambda n: n + 1, default=0)
    return times


class Holding:
    """Locks of the child, by name."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._locks: dict[str, Any] = {}

    def take(self, name: str, **options: Any) -> int:
        self._locks[name] = self._table.lock(name, **options)
        return int(self._locks[name].acquire())

    def held(self, name: str) -> bool:
        return bool(self._locks[name].held)


def perform(table: Table, holding: Holding, method: str, arguments: Any, options: Any) -> Any:
    expected = options.get("if_version")
    if expected is not None:
        options["if_version"] = ABSENT if expected == "absent" else Version.parse(expected)
    match method:
        case "repeat":
            return repeat(table, *arguments)
        case "add_one":
            return add_one(table, *arguments)
        case "take":
            return holding.take(*arguments, **options)
        case "held":
            return holding.held(*arguments)
        case "owned":
            owned = table.raw.owned
            return [] if owned is None else sorted(owned.owned_partitions)
    return getattr(table, method)(*arguments, **options)


def plain(result: Any) -> Any:
    match result:
        case Entry():
            return {"value": result.value, "version": str(result.version)}
        case Version():
            return {"version": str(result)}
        case ConflictError():
            return {"error": "ConflictError", "current": plain(result.current)}
        case LastwordError():
            return {"error": type(result).__name__, "message": str(result)}
    return result


def main() -> None:
    topic, options = sys.argv[1], json.loads(sys.argv[2])
    saying = threading.Lock()

    def say(number: int, answer: Any) -> None:
        with saying:
            sys.stdout.write(json.dumps([number, answer]) + "\n")
            sys.stdout.flush()

    with Table(topic, **options) as table:
        holding = Holding(table)
        say(0, "ready")
        for line in sys.stdin:
            number, method, arguments, given = json.loads(line)
            try:
                result = perform(table, holding, method, arguments, given)
            except LastwordError as error:
                result = error
            say(number, plain(result))


if __name__ == "__main__":
    main()
