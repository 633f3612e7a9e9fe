"""Fail-over of Kafka Streams: two instances that count, each with a standby of the other's."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from typing import Any

from arena.programs import BUILD, java_program

# The group's time to notice a killed member is its session timeout; 6 s as in Lastword's own group,
# instead of the default of 45 s.
SETTINGS = (
    "num.standby.replicas=1",
    "consumer.session.timeout.ms=6000",
    "consumer.heartbeat.interval.ms=500",
    "commit.interval.ms=100",
    "statestore.cache.max.bytes=0",
)
_READY_S = 120.0


class StreamsInstance:
    """One instance in a process of its own."""

    def __init__(self, command: list[str], servers: str, topic: str, name: str) -> None:
        state = BUILD / "streams" / f"{topic}-{name}"
        shutil.rmtree(state, ignore_errors=True)
        settings = (f"bootstrap.servers={servers}", f"application.id={topic}", f"state.dir={state}")
        self._process = subprocess.Popen(
            [*command, topic, *settings, *SETTINGS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, what: str) -> dict[str, Any]:
        """The answer to one request."""
        if self._process.stdin is None or self._process.stdout is None:
            raise SystemExit("an instance without pipes")
        self._process.stdin.write(what + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("an instance of Kafka Streams ended")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def kill(self) -> None:
        """As a crash would end it."""
        self._process.kill()
        self._process.wait()


def failover(servers: str, topic: str, partitions: int, keys: list[str]) -> dict[str, float]:
    """Kill one of two instances; the seconds to the next answers for a key of it.

    ``keys`` has a key of each partition, with a record in the topic.
    """
    command = java_program("StandbyCounts")
    live = [StreamsInstance(command, servers, topic, name) for name in "ab"]
    try:
        lost = _wait_until_shared(live, partitions)
        partition = lost[0]
        live[0].kill()
        killed_at = time.time()
        found = live[1].ask(f"take {partition} {keys[partition]}")
    finally:
        for each in live:
            each.kill()
    return {name.replace("_ms", "_s"): at / 1000 - killed_at for name, at in found.items()}


def _wait_until_shared(live: list[StreamsInstance], partitions: int) -> list[int]:
    """The partitions of the first one, once the second one has a standby of each."""
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline:
        first, second = (each.ask("owns") for each in live)
        shared = sorted(first["active"] + second["active"]) == list(range(partitions))
        even = min(len(first["active"]), len(second["active"])) > 0
        warm = set(first["active"]) <= set(second["standby"])
        if first["running"] and second["running"] and shared and even and warm:
            return list(first["active"])
        time.sleep(0.2)
    raise SystemExit(f"Kafka Streams did not share the partitions in {_READY_S:.0f} s")
