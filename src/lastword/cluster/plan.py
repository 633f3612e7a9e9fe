"""The plan: which member owns each partition, and which keep copies. The value and its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec

from lastword.errors import ClusterError

FORMAT = 1
MemberState = Literal["present", "draining", "restarting", "guest"]
NO_OWNER = ""
"""The owner when no member offers the topic."""


class PlanMember(msgspec.Struct, frozen=True):
    """One member: the address of its peer endpoint, and the topics it offers to own.

    ``offers`` maps each topic to its number of partitions. A ``guest`` is short-lived, such as a
    command: it owns partitions of a topic only while no other member offers that topic.

    ``standbys`` maps each topic that the member offers as partitioned to the number of standbys per
    partition. A topic that is missing there is replicated: every member has its state. The copies
    of a partition go to different racks if possible. A member of ``weight`` 2 gets twice the share
    of one of weight 1. A ``draining`` member gets no partitions and gives away those it has.

    A member that announced a restart is away until ``away_until_ms`` (Unix time). Until then it
    keeps its partitions and gets no others. 0 means that it is present. If it ``lends``, its
    standbys decide writes until it is back; otherwise writes wait for it.

    ``service`` is the URL at which the member serves its tables over HTTP; empty if it does not.
    """

    address: str
    offers: dict[str, int] = {}
    guest: bool = False
    standbys: dict[str, int] = {}
    rack: str = ""
    weight: int = 1
    draining: bool = False
    away_until_ms: int = 0
    lends: bool = False
    service: str = ""

    @property
    def state(self) -> MemberState:
        """The state of the member in one word."""
        if self.away_until_ms:
            return "restarting"
        if self.draining:
            return "draining"
        return "guest" if self.guest else "present"


class Plan(msgspec.Struct, frozen=True):
    """Which member owns which partition. Each plan has a larger ``number`` than the one before.

    ``leader`` is the member that wrote it. ``owners`` lists, for each topic, the instance id of the
    owner of each partition, in order of partitions. ``standbys`` lists, in the same order, the
    members that keep a copy beside the owner. ``moves`` has the topics of which partitions are
    about to move, and lists the next owner of each partition, which is warming up; NO_OWNER for
    those that stay. ``lent`` has the topics of which partitions are lent, and lists the restarting
    member that gets each partition back; NO_OWNER for the others. Unknown fields of later versions
    are ignored, so a member of an earlier version still reads the owners.
    """

    number: int
    leader: str
    members: dict[str, PlanMember] = {}
    owners: dict[str, list[str]] = {}
    standbys: dict[str, list[list[str]]] = {}
    moves: dict[str, list[str]] = {}
    lent: dict[str, list[str]] = {}
    format: int = FORMAT

    def owner(self, topic: str, partition: int) -> Owner | None:
        """The owner of the partition, or None if the plan names none."""
        named = self.owners.get(topic, ())
        if not 0 <= partition < len(named) or named[partition] == NO_OWNER:
            return None
        instance_id = named[partition]
        return Owner(instance_id, self.members[instance_id].address, self.number)

    def services(self, topic: str) -> list[str]:
        """The URL of the service of each partition's owner; empty where there is none."""
        return [
            self.members[name].service if name in self.members else ""
            for name in self.owners.get(topic, ())
        ]

    def standbys_of(self, topic: str, partition: int) -> list[str]:
        """The members that keep a copy of the partition beside its owner, the best first."""
        named = self.standbys.get(topic, ())
        return named[partition] if 0 <= partition < len(named) else []

    def next_owner(self, topic: str, partition: int) -> str:
        """The member that warms up to own the partition; NO_OWNER if it is not about to move."""
        named = self.moves.get(topic, ())
        return named[partition] if 0 <= partition < len(named) else NO_OWNER

    def lender(self, topic: str, partition: int) -> str:
        """The restarting member that gets the partition back; NO_OWNER if it is not lent."""
        named = self.lent.get(topic, ())
        return named[partition] if 0 <= partition < len(named) else NO_OWNER

    def copies(self, topic: str, partition: int) -> list[Owner]:
        """The members that keep the partition: its owner, its standbys, and its next owner."""
        owner = self.owner(topic, partition)
        names = [] if owner is None else [owner.instance_id]
        names += self.standbys_of(topic, partition)
        names.append(self.next_owner(topic, partition))
        return [
            Owner(name, self.members[name].address, self.number)
            for name in dict.fromkeys(names)
            if name in self.members
        ]

    def owned_by(self, instance_id: str) -> set[tuple[str, int]]:
        """The (topic, partition) pairs that the member owns."""
        return {
            (topic, partition)
            for topic, named in self.owners.items()
            for partition, owner in enumerate(named)
            if owner == instance_id
        }

    def says_the_same_as(self, other: Plan | None) -> bool:
        """Whether the two plans are equal except for their number."""
        return other is not None and msgspec.structs.replace(self, number=other.number) == other


class Owner(NamedTuple):
    """The owner of a partition in one plan. ``here``: it is this process."""

    instance_id: str
    address: str
    plan: int
    here: bool = False


class Assignment(NamedTuple):
    """What one plan says about one partition.

    ``copies`` lists the owner, the standbys, and a member that warms up to become the owner. For a
    replicated topic, which every member holds, it lists the owner only.
    """

    owner: Owner
    copies: tuple[Owner, ...] = ()

    @property
    def kept_here(self) -> bool:
        """Whether this process keeps a copy."""
        return any(copy.here for copy in self.copies)


Lags = Mapping[str, Mapping[str, Mapping[int, int]]]
"""instance id -> topic -> partition -> records that the member has yet to apply."""

_DECODER = msgspec.json.Decoder(Plan)


def encode_plan(plan: Plan) -> bytes:
    """The plan as JSON, the same bytes for equal plans."""
    return msgspec.json.encode(plan, order="deterministic")


def decode_plan(data: bytes) -> Plan:
    """Read what ``encode_plan`` wrote; raises ClusterError for anything else."""
    try:
        plan = _DECODER.decode(data)
    except msgspec.DecodeError as error:
        raise ClusterError(
            f"the control topic holds a record that is not a plan: {error}",
            hint="make sure that no other program writes to this topic",
        ) from error
    if plan.format > FORMAT:
        raise ClusterError(
            f"plan {plan.number} has format {plan.format}, but this version reads only {FORMAT}",
            hint="upgrade this instance to the version of the others",
        )
    return plan
