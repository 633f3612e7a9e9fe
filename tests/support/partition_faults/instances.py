"""The instances that share a partitioned table, as the test that harms them sees them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lastword.testing import wait_until
from tests.support.child_process import ChildProcess
from tests.support.network.kafka_proxy import KafkaProxy
from tests.support.shared_tables.peer_relay import PeerRelay

PARTITIONS = 4
SETTLED_S = 180.0


class RecordedInstance:
    """One instance and its history, over several lives of its process."""

    def __init__(self, name: str, directory: Path, **options: Any) -> None:
        self.name = name
        self.history = directory / f"{name}.history"
        self._options = options | {
            "instance_id": name,
            "state_dir": str(directory / f"state-{name}"),
            "history": str(self.history),
        }
        self.process = self._started()

    def start_again(self) -> None:
        """A new process with the same instance id."""
        self.process = self._started()

    def ask(self, command: str = "held") -> dict[str, Any]:
        """What it holds and knows now, after it has carried out a command."""
        said = len(self.process.lines)
        self.process.tell(command)
        wait_until(
            lambda: len(self.process.lines) > said or self.process.ended,
            f"an answer of {self.name}",
            timeout=SETTLED_S,
        )
        assert len(self.process.lines) > said, f"{self.name} has ended"
        answer: dict[str, Any] = self.process.lines[-1]
        return answer

    def _started(self) -> ChildProcess:
        return ChildProcess("tests.support.partition_faults.worker", json.dumps(self._options))


class Instance(RecordedInstance):
    """One with networks of its own, to be harmed."""

    def __init__(
        self, name: str, brokers: KafkaProxy, peers: PeerRelay, directory: Path, **options: Any
    ) -> None:
        self.brokers, self.peers = brokers, peers
        servers, peer = brokers.bootstrap_servers, peers.settings
        super().__init__(name, directory, bootstrap_servers=servers, peer=peer, **options)


def settled(instances: Sequence[RecordedInstance]) -> bool:
    """Whether nothing moves, and each instance has what the plan gives it."""
    said = [each.ask() for each in instances]
    if len({each.get("plan") for each in said}) > 1 or "plan" not in said[0]:
        return False
    if said[0]["members"] < len(instances) or said[0]["moves"]:
        return False
    return said[0]["copies"] == 2 * PARTITIONS and all(
        each["ready"] == each["to_be_ready"] and each["owned"] == each["to_be_owned"]
        for each in said
    )


class Instances(ExitStack):
    """Starts instances of one application, and kills those that are left after the test."""

    def __init__(self, bootstrap_servers: str, directory: Path, topic: str) -> None:
        super().__init__()
        self._servers, self._directory, self._topic = bootstrap_servers, directory, topic
        self.application = f"{topic[-40:]}-app"
        self.all: list[Instance] = []

    def start(self, count: int) -> None:
        """Start so many, each in networks of its own, and wait until all is shared."""
        for number in range(count):
            instance = Instance(
                "abcdef"[number],
                self.enter_context(KafkaProxy(self._servers)),
                self.enter_context(PeerRelay(number + 1)),
                self._directory,
                topic=self._topic,
                application_id=self.application,
                standbys=1,
            )
            self.callback(lambda each=instance: each.process.kill())
            self.all.append(instance)
        self.wait_until_settled()

    def wait_until_settled(self) -> None:
        """Until nothing moves, and each instance has what the plan gives it."""
        wait_until(
            lambda: settled(self.all), "all partitions to be shared", timeout=SETTLED_S, every=0.1
        )
