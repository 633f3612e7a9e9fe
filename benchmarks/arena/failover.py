"""How long a partition takes no writes after its owner was killed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import Any

from arena.programs import BENCHMARKS

INSTANCES = 3
_OWNED_S = 60.0
_POLL_S = 0.05


class Instance:
    """An instance of the application in a process of its own."""

    def __init__(self, servers: str, topic: str) -> None:
        command = [sys.executable, "-m", "arena.run_writes", servers, topic, "instance"]
        self.process = subprocess.Popen(
            command, cwd=BENCHMARKS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def wait_ready(self) -> Instance:
        self._line()
        return self

    def ask(self, what: str) -> dict[str, Any]:
        """The answer to one request."""
        assert self.process.stdin is not None  # noqa: S101 - a pipe was asked for
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        return self._line()

    def kill(self) -> None:
        """As a crash would end it."""
        self.process.kill()
        self.process.wait()

    def _line(self) -> dict[str, Any]:
        assert self.process.stdout is not None  # noqa: S101
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("an instance ended; see above")
        answer: dict[str, Any] = json.loads(line)
        return answer


def failover_seconds(servers: str, topic: str, times: int) -> list[float]:
    """From kill -9 of the owner of the one partition to the next write that is accepted.

    The first instance leads, until it is killed in its turn as the owner. A new instance takes the
    place of each killed one, so the killed one is the leader in one of three rounds at least.
    """
    seconds = []
    with ExitStack() as stack:

        def start() -> Instance:
            instance = Instance(servers, topic)
            stack.callback(instance.kill)
            return instance

        live = [start().wait_ready() for _ in range(INSTANCES)]
        for _ in range(times):
            owner = _owner(live)
            live.remove(owner)
            killed_at = time.perf_counter()
            owner.kill()
            while "done" not in live[0].ask("increment"):
                pass
            seconds.append(time.perf_counter() - killed_at)
            live.append(start().wait_ready())
    return seconds


def _owner(live: list[Instance]) -> Instance:
    deadline = time.monotonic() + _OWNED_S
    while time.monotonic() < deadline:
        for instance in live:
            if instance.ask("owns").get("done"):
                return instance
        time.sleep(_POLL_S)
    raise SystemExit(f"nobody owned the partition for {_OWNED_S:.0f} s")
