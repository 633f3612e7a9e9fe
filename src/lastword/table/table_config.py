"""The settings of a table, checked before anything is opened."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import get_args

from lastword.clock import Clock
from lastword.cluster.copies import PlanLimits
from lastword.cluster.lending import RestartWrites
from lastword.cluster.peers.peer_settings import PeerSettings
from lastword.cluster.planning import DEFAULT_LIMITS
from lastword.durations import Duration, milliseconds
from lastword.errors import ConfigError
from lastword.kafka.connection import Connection
from lastword.replicas.state_directory import StateDirectory
from lastword.replicas.versions.versions import VersionLimit
from lastword.snapshots.catalog.location import Location
from lastword.stores.factory import StoreFactory
from lastword.table.decoder import Decoder
from lastword.table.partitioned.routing import DEFAULT_ROUTING, Layout, Routing, check_layout
from lastword.writer.write_mode import WriteMode

DEFAULT_APPLICATION_ID = "lastword"
WEIGHT_MAX = 1_000


def check_write_mode(mode: WriteMode) -> None:
    """Raise ConfigError unless there is such a mode."""
    if mode not in get_args(WriteMode):
        raise ConfigError(
            f"writes={mode!r} is not a way to write",
            hint=f"use one of {', '.join(get_args(WriteMode))}",
        )


@dataclass(frozen=True)
class InstanceConfig:
    """How this process appears to the other instances of its application.

    A ``guest`` is short-lived: it owns a partition only while no other instance can. Copies of a
    partition go to different racks if possible; an instance of ``weight`` 2 gets twice the share of
    one of weight 1. The limits of moves apply while this instance is the leader.
    """

    instance_id: str | None = None
    peer: PeerSettings | None = None
    guest: bool = False
    rack: str = ""
    weight: int = 1
    limits: PlanLimits = DEFAULT_LIMITS
    restart_within: Duration | None = None
    """At its end, announces its return within this time; its partitions wait for it."""
    restart_writes: RestartWrites = "wait"
    """Whether writes wait for it until then, or fail over to the standbys of its partitions."""

    def __post_init__(self) -> None:
        if self.restart_within_ms is not None and self.instance_id is None:
            raise ConfigError(
                "restart_within needs a named instance",
                hint="give instance_id together with restart_within",
            )
        if self.restart_writes not in get_args(RestartWrites):
            raise ConfigError(
                f"restart_writes={self.restart_writes!r} is not a choice",
                hint=f"use one of {', '.join(get_args(RestartWrites))}",
            )
        if not 1 <= self.weight <= WEIGHT_MAX:
            raise ConfigError(
                f"an instance cannot have the weight {self.weight}", hint=f"use 1 to {WEIGHT_MAX}"
            )

    @property
    def restart_within_ms(self) -> int | None:
        """The same in milliseconds; raises ConfigError."""
        if self.restart_within is None:
            return None
        return milliseconds(self.restart_within, what="restart_within")


@dataclass(frozen=True, kw_only=True)
class TableConfig:
    """The settings of one table; ``docs/reference/settings.md`` explains each."""

    topic: str
    name: str
    connection: Connection
    decoder: Decoder
    store: StoreFactory
    directory: StateDirectory
    application_id: str
    allow_expiry: bool
    snapshots: Location | None
    keep: VersionLimit | None
    ttl_ms: int | None
    clock: Clock
    writes: WriteMode = "direct"
    layout: Layout = "replicated"
    standbys: int = 1
    routing: Routing = DEFAULT_ROUTING
    instance: InstanceConfig = InstanceConfig()
    keeps_leases: bool = False
    """Whether the rows are leases, whose time the owner counts."""
    partitions: Collection[int] | None = None
    """The partitions to hold first; None for all. The set gains and loses others later."""

    def __post_init__(self) -> None:
        check_write_mode(self.writes)
        check_layout(self.layout, self.standbys)
