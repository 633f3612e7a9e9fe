"""What the leader would still move, if everything it waits for happened."""

from __future__ import annotations

from typing import NamedTuple

from lastword.cluster.plan import NO_OWNER, Lags, Plan
from lastword.cluster.planning import make_plan

_ROUNDS_MAX = 10_000


class Move(NamedTuple):
    """A partition that gets another owner."""

    topic: str
    partition: int
    source: str
    target: str


def settled(plan: Plan) -> Plan:
    """The plan to which this one leads once every copy has caught up and nobody comes or goes."""
    for _ in range(_ROUNDS_MAX):
        following = make_plan(plan.members, plan, leader=plan.leader, lags=_caught_up(plan))
        if following.says_the_same_as(plan):
            return plan
        plan = following
    return plan


def moves_between(plan: Plan, later: Plan) -> list[Move]:
    """The partitions whose owners differ, except those that had none."""
    return [
        Move(topic, partition, before, after)
        for topic, owners in sorted(later.owners.items())
        for partition, (before, after) in enumerate(
            zip(plan.owners.get(topic, ()), owners, strict=False)
        )
        if before not in (NO_OWNER, after)
    ]


def _caught_up(plan: Plan) -> Lags:
    lags: dict[str, dict[str, dict[int, int]]] = {}
    for topic, owners in plan.owners.items():
        for partition in range(len(owners)):
            for copy in plan.copies(topic, partition):
                lags.setdefault(copy.instance_id, {}).setdefault(topic, {})[partition] = 0
    return lags
