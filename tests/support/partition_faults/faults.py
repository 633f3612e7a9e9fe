"""What happens to the instances of a partitioned table: one fault at a time, then they recover."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from lastword.testing import wait_until
from tests.support.partition_faults.instances import PARTITIONS, Instance, Instances

TAKEN_OVER_S = 180.0
_API_KEYS = range(100)


Kind = Callable[[Instance], Iterator[None]]


class Fault(NamedTuple):
    """One fault: what happened to whom, from when until when."""

    kind: str
    victim: str
    owned: list[int]
    began: float
    ended: float


class Nemesis:
    """Harms one instance until the others write in all partitions, then lets it recover."""

    def __init__(self, instances: Instances, dice: random.Random) -> None:
        self._instances, self._dice = instances, dice
        self.kinds: list[Kind] = [
            self.killed,
            self.frozen,
            self.cut_off,
            self.cut_off_from_answers_of_brokers,
            self.not_reached_by_peers,
            self.connections_cut,
        ]

    def strike(self, kind: Kind, victim: Instance) -> Fault:
        """Let it happen and wait until everything is as before."""
        owned = victim.ask()["owned"]
        began = time.monotonic()
        with contextmanager(kind)(victim):
            self._wait_until_others_write(victim, began)
            ended = time.monotonic()
        self._instances.wait_until_settled()
        self._wait_until_all_write()
        return Fault(kind.__name__, victim.name, owned, began, ended)

    def __iter__(self) -> Iterator[tuple[Kind, Instance]]:
        """Every kind once, then any; of any instance."""
        for kind in self.kinds:
            yield kind, self._dice.choice(self._instances.all)
        while True:
            yield self._dice.choice(self.kinds), self._dice.choice(self._instances.all)

    def killed(self, victim: Instance) -> Iterator[None]:
        """SIGKILL; then a new process under the same name."""
        with victim.peers.refusing():
            victim.process.kill()
            yield
        victim.start_again()

    def frozen(self, victim: Instance) -> Iterator[None]:
        """SIGSTOP, then SIGCONT: it wakes up when others own its partitions."""
        victim.process.freeze()
        yield
        victim.process.go_on()

    def cut_off(self, victim: Instance) -> Iterator[None]:
        """Nothing reaches the brokers, and nothing reaches it from its peers."""
        with victim.brokers.holding("request", *_API_KEYS), victim.peers.silent():
            yield

    def cut_off_from_answers_of_brokers(self, victim: Instance) -> Iterator[None]:
        """Brokers get its requests, but it does not get their answers; its peers reach it."""
        with victim.brokers.holding("response", *_API_KEYS):
            yield

    def not_reached_by_peers(self, victim: Instance) -> Iterator[None]:
        """It reaches its peers and the brokers, and its peers do not reach it."""
        with victim.peers.silent():
            yield

    def connections_cut(self, victim: Instance) -> Iterator[None]:
        """Its connections to peers and brokers break, and can be opened again at once."""
        victim.peers.cut()
        victim.brokers.cut()
        yield

    def _wait_until_others_write(self, victim: Instance, since: float) -> None:
        others = [each for each in self._instances.all if each is not victim]
        wait_until(
            lambda: all(_has_written_everywhere(each, since) for each in others),
            f"writes in all partitions without {victim.name}",
            timeout=TAKEN_OVER_S,
            every=0.1,
        )

    def _wait_until_all_write(self) -> None:
        since = time.monotonic()
        wait_until(
            lambda: all(_has_written_everywhere(each, since) for each in self._instances.all),
            "writes in all partitions by everybody",
            timeout=TAKEN_OVER_S,
            every=0.1,
        )


def _has_written_everywhere(instance: Instance, since: float) -> bool:
    written = set()
    for line in reversed(instance.history.read_bytes().splitlines()[:-1]):
        kind, partition, began, ended, status = json.loads(line)[:5]
        if ended < since:
            break
        if kind == "w" and status == "ok" and began > since:
            written.add(partition)
    return len(written) == PARTITIONS
