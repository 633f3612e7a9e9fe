"""Which members keep a copy of a partition beside its owner.

Copies go to different racks first, then to a member that has the state already, then to the one
with the fewest copies. A copy stays where it is unless its member is gone, a better rack is free,
or some member has two copies more than another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from lastword.cluster.copies import Copies
from lastword.cluster.plan import PlanMember
from lastword.cluster.shares import Place

Chosen = dict[Place, list[str]]


class StandbyPlanner:
    """Chooses the standbys of every partition, given the owners that the plan aims at."""

    def __init__(
        self,
        members: Mapping[str, PlanMember],
        copies: Copies,
        takers: Mapping[str, list[str]],
        owners: Mapping[Place, str],
    ) -> None:
        self._members, self._copies = members, copies
        self._takers, self._owners = takers, owners
        self._load = Counter(name for place, name in owners.items() if place[0] in copies.wanted)
        self._chosen: Chosen = {}

    def choose(self) -> Chosen:
        """The standbys of each partition of a partitioned topic."""
        places = [place for place in self._owners if place[0] in self._copies.wanted]
        for place in places:
            self._chosen[place] = []
            self._keep(place)
        for place in places:
            self._fill(place)
        self._balance()
        return self._chosen

    def _keep(self, place: Place) -> None:
        """Those that have the state and may stay, the ones on other racks first."""
        before = self._copies.standbys_before(place)
        demoted = self._copies.owner_before(place)
        known = [*before, demoted] if self._copies.offers(demoted, place[0]) else before
        staying = [name for name in known if self._may_keep(name, place)]
        while staying and len(self._chosen[place]) < self._copies.wanted[place[0]]:
            best = min(staying, key=lambda name: (self._clashes(name, place), known.index(name)))
            staying.remove(best)
            if best not in self._chosen[place]:
                self._add(place, best)

    def _fill(self, place: Place) -> None:
        while len(self._chosen[place]) < self._copies.wanted[place[0]]:
            free = [name for name in self._takers[place[0]] if self._is_free(name, place)]
            if not free:
                return
            has_state = self._copies.lag_of(place)
            best = min(
                free,
                key=lambda name: (
                    self._clashes(name, place),
                    name not in has_state,
                    self._cost(name, 1),
                    name,
                ),
            )
            self._add(place, best)

    def _balance(self) -> None:
        """Move copies from members with many to members with few, and off crowded racks."""
        for place, chosen in self._chosen.items():
            for name in list(chosen):
                if self._clashes(name, place):
                    self._move_to_another_rack(place, name)
        while self._even_out():
            pass

    def _move_to_another_rack(self, place: Place, name: str) -> None:
        free = [t for t in self._takers[place[0]] if self._may_replace(t, name, place)]
        if free:
            self._replace(place, name, min(free, key=lambda taker: (self._cost(taker, 1), taker)))

    def _even_out(self) -> bool:
        """Make one move that evens out; whether there was one."""
        held: dict[str, list[Place]] = {}
        for place, chosen in self._chosen.items():
            for name in chosen:
                held.setdefault(name, []).append(place)
        few_first = sorted(self._members, key=lambda name: (self._cost(name, 1), name))
        for giver in sorted(held, key=lambda name: (-self._cost(name), name)):
            lighter = [name for name in few_first if self._cost(name, 1) < self._cost(giver)]
            if self._copies.is_away(giver):
                continue
            for place in reversed(held[giver]):
                for taker in lighter:
                    if self._may_replace(taker, giver, place):
                        self._replace(place, giver, taker)
                        return True
        return False

    def _may_replace(self, taker: str, giver: str, place: Place) -> bool:
        return (
            taker in self._takers[place[0]]
            and self._is_free(taker, place)
            and not self._clashes(taker, place, instead_of=giver)
        )

    def _may_keep(self, name: str, place: Place) -> bool:
        stays = name in self._takers[place[0]] or self._copies.is_away(name)
        return stays and name != self._owners[place]

    def _is_free(self, name: str, place: Place) -> bool:
        return name != self._owners[place] and name not in self._chosen[place]

    def _clashes(self, name: str, place: Place, instead_of: str = "") -> bool:
        """Whether the owner or another standby is on the same rack."""
        rack = self._members[name].rack
        others = [self._owners[place], *self._chosen[place]]
        return rack != "" and any(
            self._members[other].rack == rack for other in others if other not in (name, instead_of)
        )

    def _cost(self, name: str, more: int = 0) -> float:
        return (self._load[name] + more) / max(1, self._members[name].weight)

    def _add(self, place: Place, name: str) -> None:
        self._chosen[place].append(name)
        self._load[name] += 1

    def _replace(self, place: Place, old: str, new: str) -> None:
        chosen = self._chosen[place]
        chosen[chosen.index(old)] = new
        self._load[old] -= 1
        self._load[new] += 1
