"""The core of a table without Kafka: real replicas in memory, and a log that a test writes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from types import SimpleNamespace

from lastword.errors import LastwordError
from lastword.expiry import with_expiry
from lastword.kafka.connection import Connection
from lastword.keyspace import Keyspace
from lastword.metrics import Metrics
from lastword.records import Headers, Version, Write
from lastword.replicas.apply.record_filter import RecordFilter
from lastword.replicas.held import HeldReplicas
from lastword.replicas.hooks import Hooks
from lastword.replicas.partition_follower import PartitionFollower
from lastword.replicas.replica import Replica
from lastword.replicas.replica_set import ReplicaSet
from lastword.replicas.tail.intake import Intake
from lastword.replicas.topic.blocked_ends import BlockedEnds
from lastword.replicas.topic.stuck_reads import StuckReads
from lastword.replicas.topic.topic_state import TopicState
from lastword.replicas.topic.troubles import Troubles
from lastword.replicas.versions.version_recorder import KeptVersions
from lastword.replicas.versions.versions import VersionLimit
from lastword.stores.base import Store
from lastword.stores.memory import MemoryStore
from lastword.stores.versioned import VersionedStore
from lastword.table.raw import RawTable
from lastword.table.serving import Serving
from lastword.table.version_reads import LocalVersions, VersionReads
from lastword.table.writing.unread_writes import UnreadWrites
from lastword.testing.fake_clock import FakeClock
from lastword.writer.default_ttl import DefaultTtl
from lastword.writer.outcome import Acknowledged, Outcome
from tests.support.local_tables.offline_topic import DAY_MS, batch_of
from tests.support.local_tables.written_log import WrittenLog

TOPIC = "topic"
TOPIC_ID = "topic-a"
THREE = Keyspace(3)
NOWHERE = Connection(bootstrap_servers="127.0.0.1:1")


class HandFedFollowing:
    """What a replica set asks of its following, without the threads: a test applies and looks."""

    def __init__(self, topic_state: TopicState, clock: FakeClock) -> None:
        self.topic = TOPIC
        self.held = HeldReplicas(TOPIC)
        self.topic_state = topic_state
        self.troubles = Troubles(TOPIC, clock)
        self.ended = False

    def is_blocked(self, _partition: int) -> bool:
        return False


class OfflineTable:
    """A table whose log is ``write``; what is written there is applied at once.

    It is also the writer of the core: a write is appended to that log.
    """

    def __init__(
        self,
        clock: FakeClock,
        held: Collection[int] = (0, 1, 2),
        *,
        keyspace: Keyspace = THREE,
        keep: VersionLimit | None = None,
        ttl_ms: int | None = None,
    ) -> None:
        self.clock = clock
        self.keyspace = keyspace
        self.metrics = Metrics(table="table")
        self.closed: LastwordError | None = None
        self._keep = keep
        self._filter = RecordFilter(keyspace)
        count = keyspace.partitions
        zero = dict.fromkeys(range(count), 0)
        state = TopicState(
            clock.now_ms(), "cluster", TOPIC_ID, count, DAY_MS, False, zero, zero, zero
        )
        self.following = HandFedFollowing(state, clock)
        self.held = self.following.held
        self.replicas = ReplicaSet(self.following, self, self._replica, {})  # type: ignore[arg-type]
        hooks = Hooks(
            lambda _ready, _gaining: None,
            lambda _error: None,
            lambda _replica: None,
            lambda _replica, _batch: None,
        )
        self._intake = Intake(
            self.held,
            blocked=BlockedEnds(),
            stuck=StuckReads("topic"),
            troubles=self.following.troubles,
            hooks=hooks,
            clock=clock,
            metrics=self.metrics,
        )
        for partition in held:
            self.restore(partition)
        self.raw = self._core(ttl_ms)

    def _core(self, ttl_ms: int | None) -> RawTable:
        admin = SimpleNamespace(connection=NOWHERE, stable_offsets=self._stable_offsets)
        unread = UnreadWrites(self.replicas, self.clock)
        serving = Serving("table", self.replicas, self.keyspace, self._ensure_open, unread=unread)
        past = None
        if self._keep is not None:
            kept = LocalVersions(self.replicas, admin, serving, self.clock)  # type: ignore[arg-type]
            past = VersionReads(self.replicas, self.keyspace, kept, self.clock)  # type: ignore[arg-type]
        return RawTable(
            self.replicas,
            self._filter,
            self if ttl_ms is None else DefaultTtl(self, ttl_ms),
            admin=admin,  # type: ignore[arg-type]
            log_source=WrittenLog(list),
            serving=serving,
            metrics=self.metrics,
            clock=self.clock,
            past=past,
        )

    # -- partitions ------------------------------------------------------------------------

    def begin(self, partition: int) -> Replica:
        """Hold a partition, which is being restored from here on."""
        store: Store = MemoryStore() if self._keep is None else VersionedStore(MemoryStore())
        store.open()
        replica = self._replica(partition, store)
        replica.follower.begin(self._observe())
        replica.following = True
        self.held.add(replica)
        return replica

    def restore(self, partition: int) -> Replica:
        """Hold a partition that is ready."""
        replica = self.begin(partition)
        replica.follower.go_live()
        self.held.make_ready(replica)
        return replica

    def lose(self, partition: int) -> None:
        """Hold a partition no longer."""
        replica = self.held.at(partition)
        self.held.remove(replica)
        replica.store.close()

    def key_in(self, partition: int, name: bytes = b"key") -> bytes:
        """A key that belongs to ``partition``."""
        keys = (b"%b-%d" % (name, n) for n in range(1000))
        return next(key for key in keys if self.keyspace.partition_of(key) == partition)

    # -- the log ---------------------------------------------------------------------------

    def append(self, key: bytes, value: bytes | None, headers: Headers | None = None) -> Version:
        """Write a record and apply it."""
        partition = self.keyspace.partition_of(key)
        offset = self.following.topic_state.ends[partition]
        ends = {**self.following.topic_state.ends, partition: offset + 1}
        self._observe(ends=ends, stable_ends=ends)
        batch = batch_of([(key, value)], offset, partition=partition, headers=[headers])
        self._intake.accept(batch)
        return Version(partition, offset)

    def _stable_offsets(self, _topic: str, partitions: Sequence[int]) -> dict[int, int]:
        return {p: self.following.topic_state.ends[p] for p in partitions}

    def _observe(self, **changes: object) -> TopicState:
        now_ms = self.clock.now_ms()
        state = replace(self.following.topic_state, at_ms=now_ms, **changes)  # type: ignore[arg-type]
        self.following.topic_state = state
        return state

    def _replica(self, partition: int, store: Store) -> Replica:
        recorder = None
        if self._keep is not None and isinstance(store, VersionedStore):
            recorder = KeptVersions(store, self._filter, self._keep, self.clock)
        return Replica(
            TOPIC, PartitionFollower(partition, store, self._filter, self.clock, recorder)
        )

    def _ensure_open(self) -> None:
        if self.closed is not None:
            raise self.closed

    # -- as the writer ---------------------------------------------------------------------

    def write(self, records: Sequence[Write]) -> list[Outcome]:
        return [Acknowledged(each.key, self._append(each)) for each in records]

    def _append(self, record: Write) -> Version:
        headers = record.headers
        if record.ttl_ms is not None:
            headers = with_expiry(headers, record.ttl_ms, self.clock.now_ms())
        return self.append(record.key, record.value, headers or None)

    def close(self) -> None:
        """Nothing is under way between two calls."""
