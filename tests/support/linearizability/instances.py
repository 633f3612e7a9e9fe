"""The instances of a campaign, as the test that harms them sees them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lastword.testing import wait_until
from tests.support.child_process import ROOT
from tests.support.network.kafka_proxy import KafkaProxy
from tests.support.network.proxied_cluster import ProxiedCluster
from tests.support.shared_tables.peer_relay import PeerRelay

_VERSIONS = re.compile(rb'"status":"ok","version":"(\d+):')
READY_S = 120.0
LEAVE_S = 120.0


class Instance:
    """A worker in a separate process."""

    def __init__(self, directory: Path, name: str, options: dict[str, Any]) -> None:
        self.name = name
        self.history = directory / f"{name}.history"
        self._output = directory / f"{name}.out"
        given = options | {"name": name, "history": str(self.history)}
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.linearizability.worker", json.dumps(given)],
                cwd=ROOT,
                env=os.environ | {"LASTWORD_HOME": str(directory / "home")},
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def running(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    @property
    def said(self) -> str:
        """All of its output."""
        return self._output.read_text(errors="replace")

    def acknowledged(self) -> int:
        """How many of its operations have succeeded so far."""
        return self.history.read_bytes().count(b'"status":"ok"') if self.history.exists() else 0

    def partitions_written(self) -> Counter[int]:
        """How many answers with a version it has got, by partition."""
        history = self.history.read_bytes() if self.history.exists() else b""
        return Counter(int(found) for found in _VERSIONS.findall(history))

    def wait_ready(self) -> None:
        """Until its table is open."""
        wait_until(
            lambda: self.said.startswith("ready") or "\nready" in self.said or not self.running,
            f"{self.name} to be ready",
            timeout=READY_S,
        )
        assert self.running, f"{self.name} ended: {self.said[-2000:]}"

    def kill(self) -> None:
        """End it as a crash would; does nothing when it has ended."""
        self._process.kill()
        self._process.wait(LEAVE_S)
        if self._process.stdin is not None:
            self._process.stdin.close()

    def freeze(self) -> None:
        """Stop it where it is (SIGSTOP)."""
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Resume it (SIGCONT)."""
        self._process.send_signal(signal.SIGCONT)

    def leave(self) -> None:
        """Have it finish what it does and leave in order."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(LEAVE_S) == 0, f"{self.name} failed: {self.said[-3000:]}"


class Instances(ExitStack):
    """Starts instances of one application and kills those that are left after the test.

    Each running instance has networks of its own, to the brokers and to the others.
    """

    def __init__(self, directory: Path, cluster: ProxiedCluster, **options: Any) -> None:
        super().__init__()
        self._directory = directory
        self._cluster = cluster
        self._options = options
        self._peers = [
            self.enter_context(PeerRelay(number + 1)) for number in range(len(cluster.networks))
        ]
        self._networks: dict[str, int] = {}
        self.all: list[Instance] = []

    @property
    def running(self) -> list[Instance]:
        """Those that have not ended."""
        return [each for each in self.all if each.running]

    def network_of(self, instance: Instance) -> KafkaProxy:
        """The network between an instance and the brokers."""
        return self._cluster.networks[self._networks[instance.name]]

    def peers_of(self, instance: Instance) -> PeerRelay:
        """The network through which the others reach an instance."""
        return self._peers[self._networks[instance.name]]

    def start(self) -> Instance:
        """One more, under a name of its own, in networks that nobody uses."""
        name = f"i{len(self.all) + 1}"
        taken = {self._networks[each.name] for each in self.running}
        network = next(n for n in range(len(self._cluster.networks)) if n not in taken)
        self._networks[name] = network
        options = self._options | {
            "bootstrap_servers": self._cluster.networks[network].bootstrap_servers,
            "peer": self._peers[network].settings,
            "seed": len(self.all),
            "state_dir": str(self._directory / f"state-{name}"),
        }
        instance = Instance(self._directory, name, options)
        self.callback(instance.kill)
        self.all.append(instance)
        return instance

    def operations(self) -> int:
        """About how many operations have ended so far, in all of them."""
        return sum(_lines(each.history) for each in self.all) // 2


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0
