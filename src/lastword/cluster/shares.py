"""Who owns which partition, balanced: the share of each member while a plan is being made.

The balance is that of a semi-matching: no chain of moves between members that offer the topics
moved makes the most loaded and the least loaded member of the chain more equal. Where every member
offers every topic and all have one weight, the loads differ by one at most.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping

from lastword.cluster.plan import NO_OWNER, PlanMember

Place = tuple[str, int]
"""(topic, partition)"""


class Shares:
    """Who owns what while a plan is being made.

    ``takers`` has the members that may be given partitions of each topic. Guests, members that are
    draining and those that are away are among them only if nobody else offers the topic.
    """

    def __init__(self, members: Mapping[str, PlanMember]) -> None:
        self._weight = {name: max(1, member.weight) for name, member in members.items()}
        self.partitions: dict[str, int] = {}
        self.takers: dict[str, list[str]] = {}
        for name in sorted(members):
            for topic, partitions in members[name].offers.items():
                self.partitions[topic] = max(self.partitions.get(topic, 0), partitions)
                self.takers.setdefault(topic, []).append(name)
        for topic, names in self.takers.items():
            self.takers[topic] = _foremost(names, members)
        self._offers = {
            name: sorted(topic for topic in members[name].offers if name in self.takers[topic])
            for name in members
        }
        self._waits_for = {
            name: member.offers for name, member in members.items() if member.away_until_ms
        }
        self._load = Counter(dict.fromkeys(sorted(members), 0))
        self._owner: dict[Place, str] = {}
        self._home: dict[Place, str] = {}
        self._held: dict[tuple[str, str], list[Place]] = {}  # by (member, topic)

    @property
    def places(self) -> Iterable[Place]:
        """Every partition of every topic that is offered."""
        return (
            (topic, partition)
            for topic in sorted(self.partitions)
            for partition in range(self.partitions[topic])
        )

    def may_keep(self, member: str, topic: str) -> bool:
        """Whether partitions of the topic that the member owns may stay there."""
        return topic in self._offers.get(member, ()) or topic in self._waits_for.get(member, ())

    def owner(self, place: Place) -> str:
        """Who owns the partition, as it is now."""
        return self._owner[place]

    def home(self, place: Place) -> str:
        """Who had the partition at the beginning."""
        return self._home.get(place, NO_OWNER)

    def cost(self, member: str, more: int = 0) -> float:
        """The load of a member by its weight, with so many partitions more."""
        return (self._load[member] + more) / self._weight[member]

    def keep(self, place: Place, owner: str) -> None:
        """Leave the partition with the member that has it: there it is at home."""
        self._home[place] = owner
        self._add(place, owner)

    def give(self, place: Place, lag_of: Mapping[str, int]) -> None:
        """Find an owner for a partition that is nowhere at home; among equals, the least behind."""

        def wanted(member: str) -> tuple[float, int, str]:
            return self.cost(member, 1), lag_of.get(member, 0), member

        self._add(place, min(self.takers[place[0]], key=wanted))

    def move(self, place: Place, owner: str) -> None:
        """Give the partition to another member."""
        self._remove(place)
        self._add(place, owner)

    def balance(self) -> None:
        """Move partitions from the most loaded members down, until no chain helps any more."""
        while self._balance_once() and len(set(self._weight.values())) > 1:
            pass  # With one weight for all, one pass is enough.
        self._give_back()

    def _balance_once(self) -> bool:
        """Whether anything was moved."""
        settled: set[str] = set()
        moved = False
        while rest := [(-self.cost(name), name) for name in self._load if name not in settled]:
            # A member from which no chain leads to a much smaller load never gets one later:
            # whatever it reaches stays within one of its load (Harvey et al., semi-matchings).
            _, source = min(rest)
            chain = self._chain_from(source)
            if chain:
                self._shift(chain)
                moved = True
            else:
                settled.add(source)
        return moved

    def _give_back(self) -> None:
        """Undo moves that the balance no longer needs: later ones can make earlier ones idle."""
        while idle := [place for place in self._home if self._is_idle(place)]:
            self.move(idle[0], self._home[idle[0]])

    def _is_idle(self, place: Place) -> bool:
        now, home = self._owner[place], self._home[place]
        return now != home and self.cost(home, 1) <= self.cost(now)

    def _chain_from(self, source: str) -> list[tuple[str, str, str]]:
        """The shortest chain of (giver, topic, taker) to a member that has much less to bear.

        Of several such members at one distance it is the least loaded, so that the fewest moves
        are made.
        """
        came_by: dict[str, tuple[str, str]] = {}
        topics_seen: set[str] = set()
        level = [source]
        while level:
            following: list[str] = []
            for giver in level:
                for topic in self._offers[giver]:
                    if topic in topics_seen or not self._held.get((giver, topic)):
                        continue
                    topics_seen.add(topic)
                    for taker in self.takers[topic]:
                        if taker != source and taker not in came_by:
                            came_by[taker] = (giver, topic)
                            following.append(taker)
            best = min(following, key=lambda name: (self.cost(name, 1), name), default=source)
            if self.cost(best, 1) < self.cost(source):
                return _walk_back(best, source, came_by)
            level = following
        return []

    def _shift(self, chain: list[tuple[str, str, str]]) -> None:
        for giver, topic, taker in chain:
            self.move(self._cheapest(self._held[giver, topic], taker), taker)

    def _cheapest(self, held: list[Place], taker: str) -> Place:
        """One that goes home, else one that is moving anyhow, else the last."""

        def price(place: Place) -> tuple[int, int]:
            home = self.home(place)
            moves = 0 if home == taker else 2 if home == self._owner[place] else 1
            return moves, -place[1]

        return min(held, key=price)

    def _add(self, place: Place, owner: str) -> None:
        self._owner[place] = owner
        self._load[owner] += 1
        self._held.setdefault((owner, place[0]), []).append(place)

    def _remove(self, place: Place) -> None:
        owner = self._owner[place]
        self._load[owner] -= 1
        self._held[owner, place[0]].remove(place)


def _foremost(names: list[str], members: Mapping[str, PlanMember]) -> list[str]:
    """Those that are there to stay, else whoever there is."""
    present = [name for name in names if not members[name].away_until_ms] or names
    staying = [name for name in present if not members[name].draining] or present
    return [name for name in staying if not members[name].guest] or staying


def _walk_back(
    last: str, source: str, came_by: Mapping[str, tuple[str, str]]
) -> list[tuple[str, str, str]]:
    chain: deque[tuple[str, str, str]] = deque()
    taker = last
    while taker != source:
        giver, topic = came_by[taker]
        chain.appendleft((giver, topic, taker))
        taker = giver
    return list(chain)
