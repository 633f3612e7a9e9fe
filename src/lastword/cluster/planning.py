"""Makes plans: a pure function of the members, the previous plan and the lags.

A partition stays where it is unless its owner is gone or balancing needs a move. The loads are
balanced as in a semi-matching: no chain of moves, between members that offer the moved topics, can
bring the loads of its two ends closer together. If every member offers every topic, the loads
differ by at most one.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping

from lastword.cluster.plan import NO_OWNER, Lags, Plan, PlanMember

Place = tuple[str, int]


def make_plan(
    members: Mapping[str, PlanMember],
    previous: Plan | None,
    *,
    leader: str,
    lags: Lags | None = None,
) -> Plan:
    """The plan after ``previous``.

    Equal arguments give equal plans. A partition without an owner goes to the least loaded member
    that offers its topic; among equals, to the one with the smallest lag. Guests get none while
    another member offers the topic.
    """
    shares = _Shares(members, lags or {})
    orphans = []
    for place in shares.places:
        owner = _owner_before(place, previous)
        if shares.offers(owner, place[0]):
            shares.keep(place, owner)
        else:
            orphans.append(place)
    for place in orphans:
        shares.give(place)
    shares.balance()
    shares.give_back()
    return Plan(
        number=1 if previous is None else previous.number + 1,
        leader=leader,
        members={name: members[name] for name in sorted(members)},
        owners=shares.owners(),
    )


def _owner_before(place: Place, previous: Plan | None) -> str:
    topic, partition = place
    named = () if previous is None else previous.owners.get(topic, ())
    return named[partition] if partition < len(named) else NO_OWNER


class _Shares:
    """The assignment while a plan is being made."""

    def __init__(self, members: Mapping[str, PlanMember], lags: Lags) -> None:
        self._lags = lags
        self._partitions: dict[str, int] = {}
        self._offering: dict[str, list[str]] = {}
        for name in sorted(members):
            for topic, partitions in members[name].offers.items():
                known = self._partitions.get(topic, 0)
                self._partitions[topic] = max(known, partitions)
                self._offering.setdefault(topic, []).append(name)
        for topic, names in self._offering.items():
            self._offering[topic] = [name for name in names if not members[name].guest] or names
        self._offers = {
            name: sorted(topic for topic in members[name].offers if name in self._offering[topic])
            for name in members
        }
        self._load = Counter(dict.fromkeys(sorted(members), 0))
        self._owner: dict[Place, str] = {}
        self._before: dict[Place, str] = {}
        self._held: dict[tuple[str, str], list[Place]] = {}  # by (member, topic)

    @property
    def places(self) -> Iterable[Place]:
        """Every partition of every topic that is offered."""
        return (
            (topic, partition)
            for topic in sorted(self._partitions)
            for partition in range(self._partitions[topic])
        )

    def offers(self, member: str, topic: str) -> bool:
        return topic in self._offers.get(member, ())

    def keep(self, place: Place, owner: str) -> None:
        """Leave the partition with its previous owner."""
        self._before[place] = owner
        self._add(place, owner)

    def give(self, place: Place) -> None:
        """Find an owner for a partition that has none."""
        topic, partition = place

        def wanted(member: str) -> tuple[int, int, str]:
            lag = self._lags.get(member, {}).get(topic, {}).get(partition, 0)
            return self._load[member], lag, member

        self._add(place, min(self._offering[topic], key=wanted))

    def balance(self) -> None:
        """Move partitions from the most loaded members down, until no chain of moves helps."""
        settled: set[str] = set()
        while True:
            rest = [(-load, name) for name, load in self._load.items() if name not in settled]
            if not rest:
                return
            # A member without a chain to a much smaller load never gets one later: every member it
            # can reach stays within one of its load (Harvey et al., semi-matchings).
            _, source = min(rest)
            chain = self._chain_from(source)
            if chain:
                self._shift(chain)
            else:
                settled.add(source)

    def give_back(self) -> None:
        """Undo moves that later moves made unnecessary."""
        while idle := [place for place in self._before if self._is_idle(place)]:
            self._remove(idle[0])
            self._add(idle[0], self._before[idle[0]])

    def _is_idle(self, place: Place) -> bool:
        now, before = self._owner[place], self._before[place]
        return now != before and self._load[now] > self._load[before]

    def owners(self) -> dict[str, list[str]]:
        """The result, in the form of a plan."""
        return {
            topic: [self._owner[topic, partition] for partition in range(self._partitions[topic])]
            for topic in sorted(self._partitions)
        }

    def _chain_from(self, source: str) -> list[tuple[str, str, str]]:
        """The shortest chain of (giver, topic, taker) to a member with a load smaller by two.

        Among several such members at the same distance it picks the least loaded one, which needs
        the fewest moves.
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
                    for taker in self._offering[topic]:
                        if taker != source and taker not in came_by:
                            came_by[taker] = (giver, topic)
                            following.append(taker)
            best = min(following, key=lambda name: (self._load[name], name), default=source)
            if self._load[best] <= self._load[source] - 2:
                return _walk_back(best, source, came_by)
            level = following
        return []

    def _shift(self, chain: list[tuple[str, str, str]]) -> None:
        for giver, topic, taker in chain:
            place = self._cheapest(self._held[giver, topic], taker)
            self._remove(place)
            self._add(place, taker)

    def _cheapest(self, held: list[Place], taker: str) -> Place:
        """One that returns to its previous owner, else one that moves anyway, else the last."""

        def cost(place: Place) -> tuple[int, int]:
            before = self._before.get(place, NO_OWNER)
            moves = 0 if before == taker else 2 if before == self._owner[place] else 1
            return moves, -place[1]

        return min(held, key=cost)

    def _add(self, place: Place, owner: str) -> None:
        self._owner[place] = owner
        self._load[owner] += 1
        self._held.setdefault((owner, place[0]), []).append(place)

    def _remove(self, place: Place) -> None:
        owner = self._owner[place]
        self._load[owner] -= 1
        self._held[owner, place[0]].remove(place)


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
