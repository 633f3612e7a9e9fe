"""What an instance makes of the health of the members that it watches."""

from __future__ import annotations

from lastword.cluster.hearing import CALM_S, GAP_S, Hearing
from lastword.cluster.lookout import Lookout
from lastword.cluster.peers.peer import Health
from lastword.cluster.plan import Plan, PlanMember
from lastword.testing.fake_clock import FakeClock

TICK_S = 0.1


class Watching:
    """Instance a, which follows the leader b; both have just missed answers of the brokers."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.hearing = Hearing(lambda: None, self.clock)
        self.alarms = 0
        self.lookout = Lookout("a", self.hearing, alarm=self._note_alarm, clock=self.clock)
        members = {name: PlanMember(f"{name}:1") for name in "ab"}
        self.lookout.take_plan(Plan(1, "b", members))
        self.look(GAP_S + 2 * TICK_S, deaf=False, answered=False)

    def look(self, seconds: float, *, deaf: bool, answered: bool = True) -> None:
        for _ in range(round(seconds / TICK_S)):
            self.clock.advance(seconds=TICK_S)
            if answered:
                self.hearing.answered()
            now = self.clock.monotonic()
            self.lookout.judge(now, {"b": Health(refused=False, heard_at=now, deaf=deaf)})

    def _note_alarm(self) -> None:
        self.alarms += 1


def test_a_leader_that_is_deaf_since_a_silence_of_the_brokers_is_not_evicted_at_once() -> None:
    here = Watching()
    here.look(2 * CALM_S, deaf=True)
    assert here.alarms == 0


def test_a_leader_that_turns_deaf_later_is_evicted_at_once() -> None:
    here = Watching()
    here.look(CALM_S + 2 * TICK_S, deaf=False)
    assert here.alarms == 0
    here.look(TICK_S, deaf=True)
    assert here.alarms == 1
