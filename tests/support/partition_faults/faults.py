"""What happens to the instances of a partitioned table: one fault at a time, then they recover."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from lastword.testing import wait_until
from tests.support.partition_faults.histories import WriteMade, decode_line
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
        others = Progress(self._others_than(victim))
        with contextmanager(kind)(victim):
            others.wait_until_all_write(f"without {victim.name}")
            ended = time.monotonic()
        self._instances.wait_until_settled()
        Progress(self._instances.all).wait_until_all_write("by everybody")
        return Fault(kind.__name__, victim.name, owned, others.began, ended)

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

    def _others_than(self, victim: Instance) -> list[Instance]:
        return [each for each in self._instances.all if each is not victim]


class Progress:
    """Which partitions instances have written since this was made."""

    def __init__(self, instances: Sequence[Instance]) -> None:
        self._written_before = {each: each.history.stat().st_size for each in instances}
        self.began = time.monotonic()

    def wait_until_all_write(self, what: str) -> None:
        """Until every instance has written in every partition."""
        wait_until(
            lambda: all(map(self._has_written_everywhere, self._written_before)),
            f"writes in all partitions {what}",
            timeout=TAKEN_OVER_S,
            every=0.1,
        )

    def _has_written_everywhere(self, instance: Instance) -> bool:
        with instance.history.open("rb") as file:
            file.seek(self._written_before[instance])
            lines = file.read().splitlines()[:-1]
        made = map(decode_line, lines)
        written = {
            each.partition
            for each in made
            if isinstance(each, WriteMade) and each.status == "ok" and each.began > self.began
        }
        return len(written) == PARTITIONS
