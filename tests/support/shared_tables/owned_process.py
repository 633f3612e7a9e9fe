"""An instance with owned writes in a separate process, to be killed, paused and asked.

The child reads one call per line, as JSON, and answers each with one line; started with
``python -m tests.support.shared_tables.owned_process TOPIC OPTIONS``.
"""

from __future__ import annotations

import itertools
import json
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lastword.errors import ConflictError, LastwordError
from lastword.records import ABSENT, Version
from lastword.table.entry import Entry
from lastword.table.table import Table
from lastword.table.writing.election import election
from lastword.testing import wait_until
from tests.support.child_process import ChildProcess

ANSWER_S = 300.0
"""Eight processes that start and write at once take minutes on a machine with much other work."""


class OwnedProcess(ChildProcess):
    """The parent's side; ``call("increment", "n")`` calls the method of the child's table."""

    def __init__(self, topic: str, **options: Any) -> None:
        super().__init__("tests.support.shared_tables.owned_process", topic, json.dumps(options))
        self._numbers = itertools.count(1)

    def wait_ready(self) -> OwnedProcess:
        self.answer(0)
        return self

    def call(self, method: str, *arguments: Any, **options: Any) -> Any:
        """The answer to a call: a value, ``{"version", "value"}``, or ``{"error", ...}``."""
        return self.answer(self.send(method, *arguments, **options))

    def send(self, method: str, *arguments: Any, **options: Any) -> int:
        """Make a call without waiting; ``answer`` has what comes."""
        number = next(self._numbers)
        self.tell(json.dumps([number, method, arguments, options]))
        return number

    def answer(self, number: int) -> Any:
        """Wait for the answer to a call."""
        wait_until(
            lambda: number in dict(self.lines) or self.ended,
            f"answer {number}",
            timeout=ANSWER_S,
        )
        answers = dict(self.lines)
        assert number in answers, "the child has ended"
        return answers[number]


class OwnedProcesses(ExitStack):
    """The instances of one application on one topic; kills those still there at the end."""

    def __init__(self, servers: str, state_dir: Path, topic: str) -> None:
        super().__init__()
        self.topic = topic
        self._started: list[OwnedProcess] = []
        self._options = {
            "bootstrap_servers": servers,
            "state_dir": str(state_dir),
            "application_id": topic,
            "writes": "owned",
        }

    @property
    def live(self) -> list[OwnedProcess]:
        """Those that were not killed, in the order in which they were started."""
        return [each for each in self._started if not each.ended]

    def ensure(self, count: int) -> None:
        """Start as many as are missing, and wait until all are ready."""
        for _ in range(count - len(self.live)):
            name = f"instance-{len(self._started)}"
            process = OwnedProcess(self.topic, **self._options, instance_id=name)
            self.callback(process.kill)
            self._started.append(process)
        for each in self.live:
            each.wait_ready()


StartInstances = Callable[[int], OwnedProcesses]
"""(partitions of a new topic) -> the instances on it, none of which is started yet."""


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
    """The child's locks, by name, and its part in an election."""

    calls = frozenset(("take", "held", "stand", "token", "events", "resign"))

    def __init__(self, table: Table) -> None:
        self._table = table
        self._locks: dict[str, Any] = {}
        self._election: Any = None
        self._events: list[int | None] = []

    def take(self, name: str, **options: Any) -> int:
        self._locks[name] = self._table.lock(name, **options)
        return int(self._locks[name].acquire())

    def held(self, name: str) -> bool:
        return bool(self._locks[name].held)

    def stand(self, name: str, **options: Any) -> None:
        """Take part in an election."""
        elected = self._events.append
        self._election = election(
            name, self._table, elected, on_deposed=lambda: elected(None), **options
        )

    def token(self) -> int | None:
        """The token of the leader, if that is this process."""
        token: int | None = self._election.token
        return token

    def events(self) -> list[int | None]:
        """A token each time that it was elected, None each time that it was deposed."""
        return self._events

    def resign(self) -> None:
        self._election.close()


def perform(table: Table, holding: Holding, method: str, arguments: Any, options: Any) -> Any:
    expected = options.get("if_version")
    if expected is not None:
        options["if_version"] = ABSENT if expected == "absent" else Version.parse(expected)
    match method:
        case "repeat":
            return repeat(table, *arguments)
        case "add_one":
            return add_one(table, *arguments)
        case _ if method in holding.calls:
            return getattr(holding, method)(*arguments, **options)
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
