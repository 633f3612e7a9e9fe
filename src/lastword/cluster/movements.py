"""The partitions that changed their owner, as the plans in the control topic tell it."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from lastword.cluster.forecast import Move, moves_between
from lastword.cluster.plan import Plan

KEPT_MAX = 200


class Movement(NamedTuple):
    """One partition that got another owner: when, and by which plan."""

    at_ms: int
    plan: int
    move: Move


class Movements:
    """The last movements. Used by one thread; ``last`` is safe to read from any."""

    def __init__(self) -> None:
        self._previous: Plan | None = None
        self._kept: deque[Movement] = deque(maxlen=KEPT_MAX)

    def take(self, plan: Plan, at_ms: int) -> None:
        """Take the next plan of the log; one that was taken before changes nothing."""
        previous = self._previous
        if previous is not None:
            if plan.number <= previous.number:
                return
            moves = moves_between(previous, plan)
            self._kept.extend(Movement(at_ms, plan.number, move) for move in moves)
        self._previous = plan

    @property
    def last(self) -> list[Movement]:
        """The last movements, the newest first."""
        return list(self._kept.copy())[::-1]
