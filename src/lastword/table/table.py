"""The table: a compacted topic that can be queried, written and watched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.cluster.cluster import Cluster
from lastword.cluster.copies import PlanLimits
from lastword.cluster.lending import RestartWrites
from lastword.cluster.peers.peer_settings import PeerSettings
from lastword.cluster.planning import DEFAULT_LIMITS
from lastword.codecs.resolve import CodecSpec, codecs_for
from lastword.durations import Duration
from lastword.expiry import ttl_ms_of
from lastword.home import default_state_dir
from lastword.kafka.connection import Connection, choose_connection
from lastword.metrics import Metrics
from lastword.records import Position
from lastword.replicas.apply.checkpoint import Quarantined
from lastword.replicas.progress import OnProgress, RestoreListener, RestoreProgress
from lastword.replicas.state_directory import StateDirectory
from lastword.replicas.versions.versions import keep_of
from lastword.snapshots.catalog.location import Location
from lastword.snapshots.travel.moments import Moment
from lastword.snapshots.travel.time_travel import SizeListener, unwatched
from lastword.stores.factory import StoreSpec, store_factory
from lastword.table.decoder import BadRecordPolicy, Decoder
from lastword.table.entry import Change, Entry
from lastword.table.lifecycle import Lifecycle
from lastword.table.partition_view import PartitionView
from lastword.table.partitioned.routing import Layout, make_routing
from lastword.table.past_table import PastTable
from lastword.table.queries import Queries
from lastword.table.raw import RawTable
from lastword.table.scan import Scan
from lastword.table.table_config import (
    DEFAULT_APPLICATION_ID,
    InstanceConfig,
    TableConfig,
)
from lastword.table.table_state import StateListener, TableState
from lastword.table.watch import Watch
from lastword.table.writing.async_calls import AsyncCalls
from lastword.table.writing.conditions import Consistency, check_consistency
from lastword.table.writing.locks import Locks
from lastword.table.writing.safe_writes import SafeWrites
from lastword.table.writing.table_writes import TableWrites
from lastword.table.writing.writes import Writes
from lastword.writer.write_mode import WriteMode

READY_STALL_S = 120.0
_ABSENT = object()


class Table(TableWrites):
    """One compacted topic as a mapping. Safe to use from any thread.

    Opening checks the topic, restores to the end of the log and then serves; a write is
    acknowledged by the cluster and readable here when it returns. ``query`` holds the same reads
    with the position they were answered at. ``writes`` says which writes the owner of a partition
    decides: none ("direct"), those with a condition ("conditional"), or all ("owned"). A
    short-lived process joins the other instances as a ``guest`` and moves no partition.

    With ``layout="partitioned"`` the instances of one application share the partitions: each has an
    owner and ``standbys`` warm copies, and any instance answers reads of any key, by asking another
    one if it must. A copy that is staler than ``max_stale`` answers no reads.

    >>> with Table("user-profiles", bootstrap_servers="localhost:9092") as users:  # doctest: +SKIP
    ...     users.put("user-1", {"name": "Alice"})
    ...     users["user-1"]
    {'name': 'Alice'}
    """

    def __init__(
        self,
        topic: str,
        *,
        bootstrap_servers: str | None = None,
        connection: Connection | None = None,
        key: CodecSpec = "string",
        value: CodecSpec = "json",
        store: StoreSpec = "memory",
        name: str | None = None,
        application_id: str = DEFAULT_APPLICATION_ID,
        state_dir: str | Path | None = None,
        on_bad: BadRecordPolicy = "fail",
        allow_expiry: bool = False,
        snapshots: str | Path | None = None,
        versions: int | str | timedelta | None = None,
        ttl: Duration | None = None,
        on_state: StateListener | None = None,
        restore_listener: RestoreListener | None = None,
        writes: WriteMode = "direct",
        layout: Layout = "replicated",
        standbys: int = 1,
        max_stale: Duration = "10s",
        rack: str = "",
        weight: int = 1,
        plan_limits: PlanLimits = DEFAULT_LIMITS,
        restart_within: Duration | None = None,
        restart_writes: RestartWrites = "wait",
        instance_id: str | None = None,
        peer: PeerSettings | None = None,
        guest: bool = False,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.topic = topic
        self.name = name or topic
        self.metrics = Metrics(table=self.name)
        root = default_state_dir() if state_dir is None else Path(state_dir)
        skipped = self.metrics.counter("skipped_records_total")
        traits = (rack, weight, plan_limits, restart_within, restart_writes)
        config = TableConfig(
            topic=topic,
            name=self.name,
            connection=choose_connection(connection, bootstrap_servers),
            decoder=Decoder(topic, *codecs_for(topic, key, value), on_bad, skipped),
            store=store_factory(store),
            directory=StateDirectory(root, application_id, self.name, clock),
            application_id=application_id,
            allow_expiry=allow_expiry,
            snapshots=None if snapshots is None else Location(str(snapshots), topic),
            keep=None if versions is None else keep_of(versions),
            ttl_ms=None if ttl is None else ttl_ms_of(ttl),
            clock=clock,
            writes=writes,
            layout=layout,
            standbys=standbys,
            routing=make_routing(max_stale=max_stale),
            instance=InstanceConfig(instance_id, peer, guest, *traits),
        )
        self._lifecycle = Lifecycle(config, self.metrics, on_state, restore_listener)
        self._table_locks = Locks(config)

    # -- life ------------------------------------------------------------------------------

    def start(self) -> None:
        """Check the topic and begin to restore, without waiting for the end."""
        self._lifecycle.start()

    def wait_ready(
        self, stall_timeout_s: float = READY_STALL_S, *, on_progress: OnProgress | None = None
    ) -> None:
        """Wait until reads are served; raises NotReadyError when nothing moves for that long.

        ``on_progress`` is called about twice a second with what ``progress()`` returns.
        """
        self._lifecycle.wait_ready(stall_timeout_s, on_progress)

    def close(self) -> None:
        """Stop and free everything; idempotent. A persistent store keeps its rows."""
        self._table_locks.close()
        self._lifecycle.close()

    def __enter__(self) -> Table:
        try:
            self.start()
            self.wait_ready()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Table {self.name} on {self.topic}: {self.state}>"

    @property
    def state(self) -> TableState:
        """Where the table is in its life."""
        return self._lifecycle.machine.state

    @property
    def cluster(self) -> Cluster | None:
        """The instances that share the partitions of this table; None if it shares none."""
        return self._lifecycle.cluster

    @property
    def decoder(self) -> Decoder:
        """The codecs of keys and values, and the policy for records they cannot read."""
        return self._lifecycle.decoder

    def progress(self) -> list[RestoreProgress]:
        """How far each partition has come on its way to the end captured at the start."""
        return self._lifecycle.parts.replicas.progress()

    def position(self) -> Position:
        """What reads reflect now, the writes of this process included."""
        position = self._lifecycle.parts.replicas.position()
        unread = self.raw.unread().offsets
        return replace(position, offsets={**position.offsets, **unread}) if unread else position

    def lag(self) -> dict[int, int]:
        """Offsets between each partition and the last known end of the log."""
        return self._lifecycle.parts.replicas.lag()

    def partitions(self) -> list[PartitionView]:
        """Every partition that is held here: position, end, lag, readiness, size and troubles.

        May take a moment: the first count of a RocksDB store walks through it.
        """
        return self._lifecycle.partitions()

    def contact_age_s(self) -> float:
        """How long ago the cluster last answered, in seconds; reads are stale after ten."""
        return self._lifecycle.parts.replicas.freshness().contact_age_s

    def quarantined(self) -> list[Quarantined]:
        """The bad records that were not applied, by partition and offset."""
        replicas = self._lifecycle.parts.replicas.held.values()
        return sorted(
            (bad for replica in replicas for bad in replica.quarantine),
            key=lambda bad: (bad.partition, bad.offset),
        )

    # -- reading ---------------------------------------------------------------------------

    @property
    def query(self) -> Queries:
        """The reads below, each with the position it was answered at."""
        return self._lifecycle.queries

    @property
    def raw(self) -> RawTable:
        """Reads and writes in bytes, without decoding."""
        return self._lifecycle.raw

    def get(
        self,
        key: Any,
        default: Any = None,
        *,
        at: Moment | None = None,
        consistency: Consistency = "local",
    ) -> Any:
        """The value of ``key``, or ``default``; or the one it had ``at`` a past moment.

        A past value is one of those that ``versions=`` keeps here: it is exact, or refused with
        MomentGoneError. ``as_of`` asks the log and snapshots instead, for the whole table.

        With ``consistency="linearizable"`` the owner of the partition answers: it sees every write
        that was acknowledged before, to any process.
        """
        if at is None and consistency == "local":
            return self.query.value(key, default)
        entry = self.entry(key, at=at, consistency=consistency)
        return default if entry is None else entry.value

    def entry(
        self, key: Any, *, at: Moment | None = None, consistency: Consistency = "local"
    ) -> Entry | None:
        """The value with its version, timestamp and headers, or None."""
        check_consistency(consistency, at)
        if at is not None:
            return self.query.entry_at(key, at)
        if consistency == "linearizable":
            return self._safe.get(key)
        return self.query.get(key).value

    def versions(self, key: Any) -> list[Change]:
        """The versions of ``key`` that ``versions=`` keeps here, deletes included, oldest first."""
        return self.query.versions(key)

    def get_many(self, keys: Iterable[Any]) -> dict[Any, Any]:
        """The values of those keys that exist, all as of one moment."""
        return self.query.values(keys)

    def __getitem__(self, key: Any) -> Any:
        value = self.query.value(key, _ABSENT)
        if value is _ABSENT:
            raise KeyError(key)
        return value

    def __contains__(self, key: Any) -> bool:
        return self.query.contains(key).value

    def __len__(self) -> int:
        return self.query.count().value

    def __bool__(self) -> bool:
        return True  # also for an empty table: `if table` must not count its keys

    def __iter__(self) -> Iterator[Any]:
        return (entry.key for entry in self.query.scan())

    def items(self, *, reverse: bool = False) -> Scan[tuple[Any, Any]]:
        """Every key and value in key order, as of one moment."""
        return self.query.pairs(reverse=reverse)

    def range(
        self, start: Any = None, end: Any = None, *, reverse: bool = False
    ) -> Scan[tuple[Any, Any]]:
        """Keys and values with ``start <= key < end``; None is unbounded."""
        return self.query.pairs(start, end, reverse=reverse)

    def prefix(self, prefix: Any, *, reverse: bool = False) -> Scan[tuple[Any, Any]]:
        """Keys that begin with ``prefix``, and their values."""
        return self.query.pairs(prefix=prefix, reverse=reverse)

    def as_of(self, moment: Moment, *, progress: SizeListener = unwatched) -> PastTable:
        """The table as it was: at a time (milliseconds or a datetime), a position, or a version.

        Answered exactly, from snapshots, history and the log, or refused with MomentGoneError.
        ``progress`` is called with the bytes so far, and may raise to give up.
        """
        return self._lifecycle.as_of(moment, progress)

    def watch(self, start: Position | None = None) -> Watch:
        """Puts and deletes from now on, or from ``start`` (where it names a partition)."""
        return self._lifecycle.watch(start)

    # -- writing: see TableWrites --------------------------------------------------------------

    @property
    def aio(self) -> AsyncCalls:
        """Reads of single keys, and all writes, as coroutines: ``await table.aio.put(key, 1)``."""
        return self._lifecycle.async_calls

    @property
    def _writes(self) -> Writes:
        return self._lifecycle.writes

    @property
    def _safe(self) -> SafeWrites:
        return self._lifecycle.safe_writes

    @property
    def _locks(self) -> Locks:
        return self._table_locks
