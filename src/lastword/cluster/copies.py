"""Who has the state of a partition, as far as the previous plan and the members' lags say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lastword.cluster.plan import NO_OWNER, Lags, Plan, PlanMember
from lastword.cluster.shares import Place

_FAR_BEHIND = 1 << 62


@dataclass(frozen=True)
class PlanLimits:
    """How careful moves are.

    A copy has caught up when it is at most ``acceptable_lag`` offsets behind the end of the log. At
    most ``max_warmups`` copies are built at a time in order to move a partition that is served
    elsewhere; copies that replace lost ones are not counted.
    """

    acceptable_lag: int = 10_000
    max_warmups: int = 2


class Copies:
    """The copies of partitioned topics before the next plan."""

    def __init__(
        self,
        members: Mapping[str, PlanMember],
        previous: Plan | None,
        lags: Lags,
        limits: PlanLimits,
    ) -> None:
        self._members, self._previous = members, previous
        self._lags, self._limits = lags, limits
        self.wanted: dict[str, int] = {}
        """The number of standbys of each partitioned topic."""
        for member in members.values():
            for topic, standbys in member.standbys.items():
                self.wanted[topic] = max(self.wanted.get(topic, 0), standbys)

    def owner_before(self, place: Place) -> str:
        """Who owned the partition by the previous plan, whether it is there or not."""
        topic, partition = place
        named = () if self._previous is None else self._previous.owners.get(topic, ())
        return named[partition] if partition < len(named) else NO_OWNER

    def target_before(self, place: Place) -> str:
        """Who was warming up to own the partition."""
        return NO_OWNER if self._previous is None else self._previous.next_owner(*place)

    def standbys_before(self, place: Place) -> list[str]:
        """Those who kept a copy beside the owner, and still offer the topic."""
        named = [] if self._previous is None else self._previous.standbys_of(*place)
        return [name for name in named if self.offers(name, place[0])]

    def offers(self, name: str, topic: str) -> bool:
        """Whether the member is there and offers the topic."""
        return name in self._members and topic in self._members[name].offers

    def is_away(self, name: str) -> bool:
        """Whether the member is restarting."""
        return self._members[name].away_until_ms > 0

    def lag_of(self, place: Place) -> dict[str, int]:
        """How far behind each copy is that is served, by member."""
        topic, partition = place
        return {
            name: lags[topic][partition]
            for name, lags in self._lags.items()
            if partition in lags.get(topic, ())
        }

    def caught_up(self, name: str, place: Place) -> bool:
        """Whether the member may take the partition over without a gap."""
        lag = self._lags.get(name, {}).get(place[0], {}).get(place[1], _FAR_BEHIND)
        return lag <= self._limits.acceptable_lag

    def heir(self, place: Place, takers: list[str]) -> str | None:
        """The member with the most of the partition's state, for when its owner is gone."""
        before = [*self.standbys_before(place), self.target_before(place)]
        lags = self.lag_of(place)
        heirs = [name for name in takers if name in before or name in lags]

        def distance(name: str) -> tuple[int, int]:
            # Whoever did not report its lag in time kept a copy, and that is near the end.
            unknown = self._limits.acceptable_lag if name in before else _FAR_BEHIND
            return lags.get(name, unknown), before.index(name) if name in before else len(before)

        return min(heirs, key=lambda name: (*distance(name), name), default=None)
