"""The partitions that changed their owner, as the plans in the control topic tell it."""

from __future__ import annotations

from collections import deque
from typing import Literal, NamedTuple, get_args

from lastword.cluster.forecast import Move, moves_between
from lastword.cluster.plan import Plan

KEPT_MAX = 200


Cause = Literal[
    "left",
    "restart overdue",
    "restarting",
    "returned",
    "drained",
    "withdrew",
    "warmed up",
    "joined",
    "rebalanced",
]

CAUSES: tuple[Cause, ...] = get_args(Cause)


class Movement(NamedTuple):
    """One partition that got another owner: when, by which plan, and why."""

    at_ms: int
    plan: int
    move: Move
    cause: Cause


def cause_of(move: Move, previous: Plan, plan: Plan) -> Cause:
    """Why the partition moved: what changed about its old owner, or else about its new one.

    A member that the others cannot hear is drained by the leader.
    """
    before, after = previous.members.get(move.source), plan.members.get(move.source)
    if after is None:
        return "restart overdue" if before is not None and before.away_until_ms else "left"
    if after.draining:
        return "drained"
    if move.topic not in after.offers:
        return "withdrew"
    return _cause_between_members(move, previous, plan)


def _cause_between_members(move: Move, previous: Plan, plan: Plan) -> Cause:
    """Why a partition moved whose old owner may keep partitions of the topic."""
    if plan.lender(move.topic, move.partition) == move.source:
        return "restarting"
    if previous.lender(move.topic, move.partition) == move.target:
        return "returned"
    if previous.next_owner(move.topic, move.partition) == move.target:
        return "warmed up"
    target = previous.members.get(move.target)
    return "joined" if target is None or move.topic not in target.offers else "rebalanced"


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
            self._kept.extend(
                Movement(at_ms, plan.number, move, cause_of(move, previous, plan))
                for move in moves_between(previous, plan)
            )
        self._previous = plan

    @property
    def last(self) -> list[Movement]:
        """The last movements, the newest first."""
        return list(self._kept.copy())[::-1]
