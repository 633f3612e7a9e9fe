"""From start to close: assembles the parts, follows their state, and waits for readiness."""

from __future__ import annotations

import threading

from lastword.cluster.cluster import Cluster
from lastword.errors import LastwordError, TableClosedError, WatchLostError
from lastword.kafka.forks import track
from lastword.metrics import Metrics
from lastword.records import Batch, Position
from lastword.replicas.hooks import Hooks
from lastword.replicas.progress import OnProgress, RestoreListener
from lastword.replicas.replica import Replica
from lastword.snapshots.travel.moments import Moment, time_of
from lastword.snapshots.travel.time_travel import SizeListener, TimeTravel
from lastword.table.decoder import Decoder
from lastword.table.listening import ListenerThread
from lastword.table.partition_view import PartitionView, views_of
from lastword.table.parts import Parts, assemble
from lastword.table.past_table import PastTable
from lastword.table.queries import Queries
from lastword.table.raw import RawTable
from lastword.table.serving import Serving
from lastword.table.stall import explain_stall
from lastword.table.table_config import TableConfig
from lastword.table.table_state import StateListener, StateMachine, TableState
from lastword.table.version_reads import LocalVersions, VersionReads, refuse_foreign
from lastword.table.watch import Watch
from lastword.table.writing.async_calls import AsyncCalls
from lastword.table.writing.owned_writes import OwnedWrites, required_owners
from lastword.table.writing.safe_writes import SafeWrites
from lastword.table.writing.shared_clusters import SHARED_CLUSTERS
from lastword.table.writing.writes import Writes
from lastword.writer.owned.value_operations import ValueOperations
from lastword.writer.sole_writer import SoleWriter

_ON_THE_WAY = frozenset((TableState.RESTORING, TableState.REBALANCING))
_POLL_S = 0.5
_OPEN_AGAIN = "make a new Table to open it again"


class Lifecycle:
    """Owns the parts of one table and knows whether they may be used."""

    def __init__(
        self,
        config: TableConfig,
        metrics: Metrics,
        on_state: StateListener | None,
        restore_listener: RestoreListener | None,
    ) -> None:
        self._listening = None if on_state is None else ListenerThread(on_state)
        self.machine = StateMachine(None if self._listening is None else self._listening.tell)
        self._config = config
        self._metrics = metrics
        self._listener = restore_listener
        self._parts: Parts | None = None
        self._queries: Queries | None = None
        self._raw: RawTable | None = None
        self._writes: Writes | None = None
        self._async_calls: AsyncCalls | None = None
        self._failure: Exception | None = None
        self._readiness = (False, False)
        self._has_run = False
        self._lock = threading.Lock()
        track(self)

    @property
    def decoder(self) -> Decoder:
        """The codecs and the policy for bad records."""
        return self._config.decoder

    @property
    def parts(self) -> Parts:
        """The parts of a started table."""
        if self._parts is None:
            raise self._closed()
        return self._parts

    @property
    def queries(self) -> Queries:
        """The reads of a started table."""
        if self._queries is None:
            raise self._closed()
        return self._queries

    @property
    def raw(self) -> RawTable:
        """The reads and writes of a started table, in bytes."""
        if self._raw is None:
            raise self._closed()
        return self._raw

    @property
    def writes(self) -> Writes:
        """The writes of a started table."""
        if self._writes is None:
            raise self._closed()
        return self._writes

    @property
    def async_calls(self) -> AsyncCalls:
        """The calls of a started table for coroutines."""
        if self._async_calls is None:
            raise self._closed()
        return self._async_calls

    @property
    def cluster(self) -> Cluster | None:
        """The instances that share the partitions of a started table, if any do."""
        return SHARED_CLUSTERS.of(self._config)

    @property
    def safe_writes(self) -> SafeWrites:
        """The writes that owners decide; raises ConfigError where there are none."""
        return SafeWrites(required_owners(self.raw.owned, self._config.topic), self.decoder)

    def start(self) -> None:
        """Check, lock and open everything, and begin to restore."""
        with self._lock:
            if self.machine.state is not TableState.CREATED:
                raise TableClosedError(
                    f"the table {self._config.name} was started before",
                    hint=_OPEN_AGAIN,
                )
            hooks = Hooks(
                self._on_readiness,
                self._on_failure,
                self._on_restored,
                self._keep_to_capacity,
                self._listener,
            )
            self._parts = parts = assemble(self._config, self._metrics, hooks)
            # Assembled before anything runs: a listener may read and write at RUNNING.
            self._raw = raw = self._core(parts)
            self._queries = Queries(raw, parts.decoder)
            self._writes = Writes(raw, parts.decoder)
            self._async_calls = AsyncCalls(raw, parts.decoder, self._metrics)
            replicas = parts.replicas
            if (owned := raw.owned) is not None:
                self._metrics.gauge("owned_partitions", lambda: len(owned.owned_partitions))
                self._metrics.gauge("owned_requests_waiting", lambda: owned.waiting)
            self._metrics.gauge("contact_age_seconds", lambda: replicas.freshness().contact_age_s)
            self.machine.move(TableState.RESTORING)
            try:
                parts.start()
            except Exception as error:
                self._on_failure(error)
                raise

    def wait_ready(self, stall_timeout_s: float, on_progress: OnProgress | None = None) -> None:
        """Wait while the restore advances; raises NotReadyError once it has not for that long."""
        clock, replicas = self._config.clock, self.parts.replicas
        last, since = replicas.progress(), clock.monotonic()
        while self.machine.wait_while(_ON_THE_WAY, _POLL_S) in _ON_THE_WAY:
            now = replicas.progress()
            if on_progress is not None:
                on_progress(now)
            if now != last:
                last, since = now, clock.monotonic()
            elif clock.monotonic() - since >= stall_timeout_s:
                raise explain_stall(
                    self._config.connection, self.parts, stall_timeout_s, clock.now_ms()
                )
        self.ensure_open()

    def ensure_open(self) -> None:
        """Raise unless the table is started, and neither closed nor failed."""
        if not self.machine.is_open:
            raise self._closed()

    def watch(self, start: Position | None) -> Watch:
        """A new watcher; every partition that is held must be ready."""
        raw = self.raw
        return Watch(
            self._config.topic, raw.watch(start), self._config.decoder, raw.records_of_table
        )

    def partitions(self) -> list[PartitionView]:
        """A view of every partition that is held here."""
        return views_of(self.parts.replicas, self._config.clock.now_ms())

    def after_fork(self) -> None:
        """In a forked child no thread follows the topic: raise instead of serving old rows."""
        if self._parts is None:
            return
        what = f"the table {self._config.name} was opened before this process was forked"
        self._failure = TableClosedError(
            f"{what}: no thread follows its topic in this process",
            hint="open the table after the fork",
        )
        self._parts.replicas.feed.after_fork(
            WatchLostError(what, hint="watch in the parent process")
        )
        self._parts = self._queries = self._raw = self._writes = None
        self._async_calls = None
        self._listening = None
        self._lock = threading.Lock()
        self.machine = StateMachine(None, TableState.ERROR)

    def as_of(self, moment: Moment, progress: SizeListener) -> PastTable:
        """A past state; the table need not be ready, only started."""
        parts, config = self.parts, self._config
        refuse_foreign(moment, parts.replicas.topic_state.topic_id)
        travel = TimeTravel(
            parts.admin,
            parts.log_source,
            config.topic,
            parts.record_filter,
            config.snapshots,
            clock=config.clock,
            seen=parts.replicas.protection.of,
        )
        return PastTable(
            travel.at(moment, progress),
            parts.decoder,
            parts.record_filter.keyspace,
            at_ms=time_of(moment),
        )

    def close(self) -> None:
        """Stop and free everything; idempotent."""
        with self._lock:
            if not self.machine.move(TableState.PENDING_SHUTDOWN):
                return
            if self._parts is not None:
                self._parts.close()
            self.machine.move(TableState.STOPPED)
        if self._listening is not None:
            self._listening.wait_for_the_last()

    def _core(self, parts: Parts) -> RawTable:
        config, keyspace = self._config, parts.record_filter.keyspace
        shared = parts.shared
        serving = Serving(
            config.name,
            parts.replicas,
            keyspace,
            self.ensure_open,
            unread=parts.writers.unread,
            routes=shared is not None,
        )
        past = kept = None
        if config.keep is not None:
            kept = LocalVersions(parts.replicas, parts.admin, serving, config.clock)
            past = VersionReads(parts.replicas, keyspace, kept, config.clock)
        owned = None
        if parts.writers.owned is not None:
            owned = OwnedWrites(
                parts.writers.owned,
                keyspace,
                operations=ValueOperations(config.decoder.value),
                ttl_ms=config.ttl_ms,
                decides_all=config.writes == "owned",
                reflect=parts.writers.reflect,
                clock=config.clock,
            )
        core = RawTable if shared is None else shared.routed(serving, kept, self._on_placed)
        return core(
            parts.replicas,
            parts.record_filter,
            parts.writers.path,
            admin=parts.admin,
            log_source=parts.log_source,
            serving=serving,
            metrics=self._metrics,
            clock=config.clock,
            past=past,
            owned=owned,
        )

    def _closed(self) -> LastwordError:
        table = f"the table {self._config.name}"
        if isinstance(self._failure, LastwordError):
            return self._failure.with_traceback(None)  # or each raise would lengthen it
        if self._failure is not None:
            error = TableClosedError(f"{table} has failed: {self._failure}", hint=_OPEN_AGAIN)
            error.__cause__ = self._failure
            return error
        if self.machine.state is TableState.CREATED:
            return TableClosedError(
                f"{table} is not open",
                hint="use it inside `with Table(...) as table:`, or call start() and wait_ready()",
            )
        return TableClosedError(f"{table} is closed", hint=_OPEN_AGAIN)

    def _on_readiness(self, ready: bool, gaining: bool) -> None:
        self._readiness = ready, gaining
        shared = None if self._parts is None else self._parts.shared
        if shared is not None and not shared.placed:
            return  # what the first plan gives to this instance is still to come
        if ready:
            self._run()
        elif gaining and self._has_run:
            self.machine.move(TableState.REBALANCING)
        else:
            self.machine.move(TableState.RESTORING)

    def _on_placed(self) -> None:
        """Everything that the first plan gives to this instance is here, though not ready."""
        ready, _ = self._readiness
        if ready:
            self._run()

    def _run(self) -> None:
        self._has_run = True
        self.machine.move(TableState.RUNNING)

    def _on_failure(self, error: Exception) -> None:
        self._failure = error
        self.machine.move(TableState.ERROR)

    def _on_restored(self, replica: Replica) -> None:
        """Evict the rows beyond the capacity that the restore loaded."""
        if (sole_writer := self.parts.writers.sole_writer) is not None:
            sole_writer.connect()  # not while readers wait for the lock
            with replica.lock:
                _evict(replica, sole_writer)

    def _keep_to_capacity(self, replica: Replica, batch: Batch) -> None:
        if (sole_writer := self.parts.writers.sole_writer) is not None:
            sole_writer.check(batch)
            _evict(replica, sole_writer)


def _evict(replica: Replica, sole_writer: SoleWriter) -> None:
    at = Position({replica.partition: replica.position}, replica.topic_id)
    sole_writer.evict(replica.store.evict(), at)
