"""The plan: which member owns each partition. A value, and how it looks in the control topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from lastword.errors import ClusterError

FORMAT = 1
NO_OWNER = ""
"""As an owner: no member that offers the topic is there."""


class PlanMember(msgspec.Struct, frozen=True):
    """One member: where its peer endpoint listens, and the topics it offers to own.

    ``offers`` maps each topic to the number of its partitions. A ``guest`` stays for a moment
    only, as a command does: it owns partitions of a topic while nobody else offers that topic.
    """

    address: str
    offers: dict[str, int] = {}
    guest: bool = False


class Plan(msgspec.Struct, frozen=True):
    """Who owns what. Every later plan of an application has a larger ``number``.

    ``leader`` is the member that wrote it. ``owners`` has, for each topic, the instance id that
    owns each partition, in order of partitions. Fields that a later version adds are ignored.
    """

    number: int
    leader: str
    members: dict[str, PlanMember] = {}
    owners: dict[str, list[str]] = {}
    format: int = FORMAT

    def owner(self, topic: str, partition: int) -> Owner | None:
        """The owner of the partition, or None if the plan names none."""
        named = self.owners.get(topic, ())
        if not 0 <= partition < len(named) or named[partition] == NO_OWNER:
            return None
        instance_id = named[partition]
        return Owner(instance_id, self.members[instance_id].address, self.number)

    def owned_by(self, instance_id: str) -> set[tuple[str, int]]:
        """The (topic, partition) pairs that the member owns."""
        return {
            (topic, partition)
            for topic, named in self.owners.items()
            for partition, owner in enumerate(named)
            if owner == instance_id
        }

    def moved_since(self, earlier: Plan | None) -> int:
        """How many partitions have another owner than in ``earlier``, first owners left out."""
        if earlier is None:
            return 0
        return sum(
            before not in (NO_OWNER, after)
            for topic, named in self.owners.items()
            for before, after in zip(earlier.owners.get(topic, ()), named, strict=False)
        )

    def says_the_same_as(self, other: Plan | None) -> bool:
        """Whether the two differ in their number alone."""
        return other is not None and msgspec.structs.replace(self, number=other.number) == other


class Owner(NamedTuple):
    """The owner of a partition by one plan. ``here`` says whether it is this very process."""

    instance_id: str
    address: str
    plan: int
    here: bool = False


class Assignment(NamedTuple):
    """What a plan says about one partition."""

    owner: Owner


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
            f"the control topic holds something that is not a plan: {error}",
            hint="does another program write to this topic?",
        ) from error
    if plan.format > FORMAT:
        raise ClusterError(
            f"plan {plan.number} has format {plan.format}, and this version reads {FORMAT}",
            hint="upgrade this instance to the version of the others",
        )
    return plan
