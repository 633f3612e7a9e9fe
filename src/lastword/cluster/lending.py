"""Lends the partitions of a restarting member to their standbys, if the member wants that.

The plan is made as if nothing were lent, so a restart changes neither the shares nor the copies.
Afterwards owner and standby of each lent partition change places, and change back once the member
is back and has caught up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from lastword.cluster.copies import Copies
from lastword.cluster.plan import NO_OWNER, Plan, PlanMember
from lastword.cluster.shares import Place

RestartWrites = Literal["wait", "fail-over"]
"""What writes to the partitions of a restarting member do."""


def returned(plan: Plan | None, members: Mapping[str, PlanMember]) -> Plan | None:
    """The plan as it was before anything was lent; what a lost member had lent stays away."""
    if plan is None or not plan.lent:
        return plan
    owners = {topic: list(named) for topic, named in plan.owners.items()}
    standbys = {topic: list(named) for topic, named in plan.standbys.items()}
    for topic, lenders in plan.lent.items():
        for partition, lender in enumerate(lenders):
            if lender != NO_OWNER and lender in members and topic in members[lender].offers:
                borrower, owners[topic][partition] = owners[topic][partition], lender
                if topic in standbys:
                    kept = standbys[topic][partition]
                    standbys[topic][partition] = _replaced(kept, lender, borrower)
    return msgspec.structs.replace(plan, owners=owners, standbys=standbys, lent={})


class Lending:
    """Lends partitions in a new plan. ``previous`` is the last plan as it was written."""

    def __init__(self, previous: Plan | None, copies: Copies) -> None:
        self._previous, self._copies = previous, copies

    def lend(self, plan: Plan) -> Plan:
        """The plan with the partitions of restarting members at their standbys."""
        if not any(self._may_lend(member) for member in plan.members.values()) and (
            self._previous is None or not self._previous.lent
        ):
            return plan
        owners = {topic: list(named) for topic, named in plan.owners.items()}
        standbys = {topic: list(named) for topic, named in plan.standbys.items()}
        lent: dict[str, list[str]] = {}
        for topic, named in plan.owners.items():
            for partition, home in enumerate(named):
                borrower = self._borrower(plan, (topic, partition), home)
                if borrower == NO_OWNER:
                    continue
                lent.setdefault(topic, [NO_OWNER] * len(named))[partition] = home
                owners[topic][partition] = borrower
                if topic in standbys:
                    kept = standbys[topic][partition]
                    standbys[topic][partition] = _replaced(kept, borrower, home)
        return msgspec.structs.replace(plan, owners=owners, standbys=standbys, lent=lent)

    def _may_lend(self, member: PlanMember) -> bool:
        return member.lends and member.away_until_ms > 0

    def _borrower(self, plan: Plan, place: Place, home: str) -> str:
        """Who decides the writes of the partition for its owner; NO_OWNER if the owner does."""
        previous = self._previous
        lent_before = previous is not None and previous.lender(*place) == home != NO_OWNER
        if home not in plan.members:
            return NO_OWNER
        comes_back = lent_before and not self._copies.caught_up(home, place)
        if not comes_back and not self._may_lend(plan.members[home]):
            return NO_OWNER
        topic, partition = place
        kept = plan.standbys_of(*place) if topic in plan.standbys else sorted(plan.members)
        present = [name for name in kept if name != home and self._is_there(plan, name, topic)]
        if lent_before and previous is not None:
            borrower = previous.owners[topic][partition]
            if borrower in present:
                return borrower
        lags = self._copies.lag_of(place)
        ready = [name for name in present if self._copies.caught_up(name, place)]
        return min(ready, key=lambda name: (lags[name], name), default=NO_OWNER)

    def _is_there(self, plan: Plan, name: str, topic: str) -> bool:
        member = plan.members.get(name)
        return member is not None and member.state == "present" and topic in member.offers


def _replaced(names: list[str], old: str, new: str) -> list[str]:
    return [new if name == old else name for name in names]
