"""The documents about a cluster: its members, the copies of each partition, and movements."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from lastword.cluster.movements import Cause
from lastword.cluster.plan import MemberState

CopyRole = Literal["owner", "standby", "next_owner"]


class ClusterMember(Struct):
    """One instance, as the last plan has it."""

    instance: str
    address: Annotated[str, Meta(description="of its peer endpoint, not of its service")]
    service: Annotated[
        str | None, Meta(description="the URL of its service, if it serves tables over HTTP")
    ]
    rack: str
    weight: int
    state: MemberState
    away_until: Annotated[
        int | None, Meta(description="when a restarting instance loses its partitions, Unix ms")
    ]
    leads: bool
    this: Annotated[bool, Meta(description="whether this instance answers the request")]
    answers: Annotated[bool, Meta(description="whether it answered the question for its lags")]
    owns: int
    standby_of: int
    warms_up: Annotated[int, Meta(description="partitions that it is about to own")]


class Copy(Struct):
    """A copy of a partition."""

    instance: str
    role: CopyRole
    lag: Annotated[
        int | None,
        Meta(description="offsets behind the end; null while it is restored, or not known"),
    ]


class SharedPartition(Struct):
    """Who keeps one partition: the owner first; nobody if no instance offers the table."""

    partition: int
    copies: list[Copy]


class SharedTable(Struct):
    """A table whose partitions have owners."""

    table: str
    topic: str
    standbys: Annotated[int | None, Meta(description="null: every instance has every partition")]
    partitions: list[SharedPartition]


class OwnerChange(Struct):
    """A partition that got another owner."""

    at: Annotated[int, Meta(description="Unix time in milliseconds")]
    plan: int
    table: str
    partition: int
    source: str
    target: str
    cause: Annotated[
        Cause,
        Meta(description="what became of the old owner, or else what made the new one take it"),
    ]


class TableOwners(Struct):
    """Where the owners of a table's partitions serve it."""

    plan: Annotated[int | None, Meta(description="the number of the last plan; null before one")]
    services: Annotated[
        list[str | None],
        Meta(description="by partition, the URL of the owner's service; null if it is not known"),
    ]


class ClusterStatus(Struct):
    """The instances with one application id, as this instance sees them."""

    application: str
    instance: Annotated[str, Meta(description="the one that answers")]
    plan: Annotated[int | None, Meta(description="the number of the last plan; null before one")]
    leader: str
    members: list[ClusterMember]
    tables: list[SharedTable]
    movements: Annotated[list[OwnerChange], Meta(description="the last ones, the newest first")]


class Clusters(Struct):
    """Every cluster that this process has joined for a table that the caller may read."""

    clusters: list[ClusterStatus]
