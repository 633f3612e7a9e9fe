"""What a table is made of, checked before anything is opened."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from lastword.clock import Clock
from lastword.kafka.connection import Connection
from lastword.replicas.state_directory import StateDirectory
from lastword.replicas.versions.versions import Keep
from lastword.snapshots.catalog.location import Location
from lastword.stores.factory import StoreFactory
from lastword.table.decoder import Decoder

DEFAULT_APPLICATION_ID = "lastword"


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
    keep: Keep | None
    ttl_ms: int | None
    clock: Clock
    partitions: Collection[int] | None = None
    """Those to hold from the beginning; None for all. The set gains and loses others later."""
