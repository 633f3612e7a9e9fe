"""The plan: which member owns each partition. The value and its JSON in the control topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from lastword.errors import ClusterError

FORMAT = 1
NO_OWNER = ""
"""The owner when no member offers the topic."""


class PlanMember(msgspec.Struct, frozen=True):
    """One member: the address of its peer endpoint, and the topics it offers to own.

    ``offers`` maps each topic to its number of partitions. A ``guest`` is short-lived, such as a
    command: it owns partitions of a topic only while no other member offers that topic.
    """

    address: str
    offers: dict[str, int] = {}
    guest: bool = False


class Plan(msgspec.Struct, frozen=True):
    """Which member owns which partition. Each plan has a larger ``number`` than the one before.

    ``leader`` is the member that wrote it. ``owners`` lists, for each topic, the instance id of the
    owner of each partition, in order of partitions. Unknown fields of later versions are ignored.
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
        """How many partitions changed their owner since ``earlier``; first owners do not count."""
        if earlier is None:
            return 0
        return sum(
            before not in (NO_OWNER, after)
            for topic, named in self.owners.items()
            for before, after in zip(earlier.owners.get(topic, ()), named, strict=False)
        )

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
    """What one plan says about one partition."""

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
            f"the control topic holds a record that is not a plan: {error}",
            hint="make sure that no other program writes to this topic",
        ) from error
    if plan.format > FORMAT:
        raise ClusterError(
            f"plan {plan.number} has format {plan.format}, but this version reads only {FORMAT}",
            hint="upgrade this instance to the version of the others",
        )
    return plan
