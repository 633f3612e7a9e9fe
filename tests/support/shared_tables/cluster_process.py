"""An instance of an application in a separate process, to be killed, frozen and asked.

The child reads one command per line and answers each with one line of JSON; started with
``python -m tests.support.shared_tables.cluster_process SERVERS APPLICATION INSTANCE OFFERS``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from lastword.cluster.cluster import Cluster
from lastword.cluster.peers import PeerSettings
from lastword.cluster.plan import Assignment
from lastword.kafka.connection import Connection
from lastword.testing import wait_until
from tests.support.child_process import ChildProcess
from tests.support.shared_tables.peer_pair import SECRET


class ClusterProcess(ChildProcess):
    """The parent's side."""

    def __init__(self, servers: str, application: str, name: str, points: dict[str, int]) -> None:
        self.name = name
        module = "tests.support.shared_tables.cluster_process"
        super().__init__(module, servers, application, name, json.dumps(points))

    @property
    def plans(self) -> list[tuple[str, int, list[int]]]:
        """Every plan that the child got: (topic, number, partitions that are its own)."""
        return [tuple(line["plan"]) for line in list(self.lines) if "plan" in line]

    def owned(self, topic: str) -> list[int] | None:
        """The partitions that are its own by the last plan; None before the first."""
        told = [owned for named, _, owned in self.plans if named == topic]
        return told[-1] if told else None

    def ask(self, command: str) -> Any:
        """The child's answer to a command."""
        said = len(self._said(command))
        self.tell(command)
        wait_until(lambda: len(self._said(command)) > said or self.ended, command)
        assert len(self._said(command)) > said, f"{self.name} ended before it answered {command}"
        return self._said(command)[said]

    def _said(self, what: str) -> list[Any]:
        return [line[what] for line in list(self.lines) if what in line]


class ClusterProcesses(ExitStack):
    """Starts instances of one application and kills those still there after the test."""

    def __init__(self, servers: str, application: str) -> None:
        super().__init__()
        self._servers, self._application = servers, application

    def start(self, name: str, **points: int) -> ClusterProcess:
        process = ClusterProcess(self._servers, self._application, name, points)
        self.callback(process.kill)
        return process


def shares(processes: list[ClusterProcess], topic: str) -> dict[str, list[int] | None]:
    return {process.name: process.owned(topic) for process in processes}


def wait_until_shared(processes: list[ClusterProcess], topic: str, partitions: int) -> None:
    """Until each partition is owned by exactly one of them, and the shares are even."""

    def shared() -> bool:
        owned = [process.owned(topic) for process in processes]
        if any(each is None for each in owned):
            return False
        sizes = [len(each or ()) for each in owned]
        named = sorted(partition for each in owned for partition in each or ())
        return named == list(range(partitions)) and max(sizes) - min(sizes) <= 1

    wait_until(shared, f"{topic} is shared by {[process.name for process in processes]}")


def say(what: str, content: Any) -> None:
    sys.stdout.write(json.dumps({what: content}) + "\n")
    sys.stdout.flush()


def teller(topic: str) -> Any:
    def tell(assignments: Mapping[int, Assignment]) -> None:
        number = max((each.owner.plan for each in assignments.values()), default=0)
        here = [partition for partition, each in assignments.items() if each.owner.here]
        say("plan", [topic, number, here])

    return tell


def answer(cluster: Cluster, command: str) -> Any:
    if command == "leads":
        return cluster.leads
    if command == "evictions":
        return cluster.metrics.counter("cluster_evictions_total").value
    if command == "members":
        return cluster.members
    raise AssertionError(f"no such command: {command}")


def main() -> None:
    servers, application, name, points = sys.argv[1:]
    connection = Connection(bootstrap_servers=servers)
    peer = PeerSettings(secret=SECRET)
    with Cluster(connection, application, instance_id=name, peer=peer) as cluster:
        for topic, partitions in json.loads(points).items():
            cluster.offer(topic, partitions, teller(topic), dict)
        for line in sys.stdin:
            say(line.strip(), answer(cluster, line.strip()))


if __name__ == "__main__":
    main()
