"""Makes plans: a pure function of the members, the previous plan and the lags.

Partitions stay where they are unless their owner is gone or the balance needs a move. A partition
of a partitioned topic moves only to a member that has caught up with its log: until then the
member warms up, and the owner before it goes on serving.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from lastword.cluster.copies import Copies, PlanLimits
from lastword.cluster.lending import Lending, returned
from lastword.cluster.plan import NO_OWNER, Lags, Plan, PlanMember
from lastword.cluster.shares import Place, Shares
from lastword.cluster.standbys import StandbyPlanner

T = TypeVar("T")

DEFAULT_LIMITS = PlanLimits()


def make_plan(
    members: Mapping[str, PlanMember],
    previous: Plan | None,
    *,
    leader: str,
    lags: Lags | None = None,
    limits: PlanLimits = DEFAULT_LIMITS,
) -> Plan:
    """The plan that follows ``previous``.

    Equal arguments give equal plans. A partition without an owner goes to the member that has most
    of its state. If nobody has any, it goes to the least loaded member that offers its topic; among
    equals, to the one with the smallest lag.
    """
    written, previous = previous, returned(previous, members)
    copies = Copies(members, previous, lags or {}, limits)
    shares = Shares(members)
    _share_out(shares, copies)
    aims = {place: shares.owner(place) for place in shares.places}
    steps = _Steps(copies, shares, limits.max_warmups)
    owners = {place: steps.owner(place, aim) for place, aim in steps.by_age(aims)}
    standbys = StandbyPlanner(members, copies, shares.takers, owners).choose()
    kept = {place: steps.standbys(place, owners[place], standbys[place]) for place in standbys}
    plan = Plan(
        number=1 if previous is None else previous.number + 1,
        leader=leader,
        members={name: members[name] for name in sorted(members)},
        owners=_by_topic(shares.partitions, owners),
        standbys=_by_topic({t: shares.partitions[t] for t in copies.wanted}, kept),
        moves=dict(sorted(steps.moves.items())),
    )
    return Lending(written, copies).lend(plan)


def _share_out(shares: Shares, copies: Copies) -> None:
    orphans = []
    for place in shares.places:
        topic, owner = place[0], copies.owner_before(place)
        partitioned = topic in copies.wanted
        if shares.may_keep(owner, topic):
            shares.keep(place, owner)
        elif partitioned and (heir := copies.heir(place, shares.takers[topic])) is not None:
            shares.keep(place, heir)
        else:
            orphans.append(place)
    for place in orphans:
        shares.give(place, copies.lag_of(place))
    for place in shares.places:
        target = copies.target_before(place)
        if target in shares.takers[place[0]] and copies.owner_before(place) == shares.owner(place):
            shares.move(place, target)  # it has begun to warm up: go on with that one
    shares.balance()


class _Steps:
    """How far the plan goes now towards what it aims at: moves wait for copies that catch up."""

    def __init__(self, copies: Copies, shares: Shares, max_warmups: int) -> None:
        self._copies = copies
        self._shares = shares
        self._free = max_warmups
        self.moves: dict[str, list[str]] = {}

    def by_age(self, aims: Mapping[Place, str]) -> list[tuple[Place, str]]:
        """The aims; those whose move has begun come first, so that they keep their warm-up."""
        return sorted(aims.items(), key=lambda each: self._copies.target_before(each[0]) != each[1])

    def owner(self, place: Place, aim: str) -> str:
        """Who owns the partition for now."""
        topic, partition = place
        holder = self._holder(place)
        if holder in (NO_OWNER, aim) or self._copies.caught_up(aim, place):
            return aim
        if self._free > 0:
            self._free -= 1
            nobody = [NO_OWNER] * self._shares.partitions[topic]
            self.moves.setdefault(topic, nobody)[partition] = aim
        return holder

    def standbys(self, place: Place, owner: str, aims: list[str]) -> list[str]:
        """Who keeps a copy for now: a copy that is to go stays until its successor has caught up.

        A copy that replaces nothing is built at once.
        """
        before = [name for name in self._copies.standbys_before(place) if name != owner]
        late = [name for name in aims if not self._copies.caught_up(name, place)]
        leaving = [name for name in before if name not in aims][: len(late)]
        if not leaving:
            return aims
        if any(name not in before for name in late):
            if self._free <= 0:
                return before
            self._free -= 1
        return [*aims, *leaving]

    def _holder(self, place: Place) -> str:
        """Who serves the partition until the move: its owner, or the heir of one that is gone."""
        if place[0] not in self._copies.wanted:
            return NO_OWNER  # everybody has the state
        owner = self._copies.owner_before(place)
        return owner if self._copies.offers(owner, place[0]) else self._shares.home(place)


def _by_topic(partitions: Mapping[str, int], said: Mapping[Place, T]) -> dict[str, list[T]]:
    return {
        topic: [said[topic, partition] for partition in range(partitions[topic])]
        for topic in sorted(partitions)
    }
