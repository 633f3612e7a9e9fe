"""The core of a table, in bytes: every read, write and watch, and how current each answer is.

``Queries``, ``Writes`` and ``Watch`` encode and decode around it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from time import perf_counter_ns
from typing import TypeVar

from lastword.clock import Clock
from lastword.errors import LastwordError, StoreError
from lastword.kafka.admin import Admin
from lastword.kafka.log.source import LogSource
from lastword.metrics import Metrics
from lastword.records import NO_HEADERS, Absent, Batch, Headers, Position, Record, Version, Write
from lastword.replicas.apply.record_filter import RecordFilter
from lastword.replicas.partition_views import freshness_of, position_of
from lastword.replicas.replica_set import ReplicaSet
from lastword.replicas.watch.missed import MissedChanges
from lastword.rows import HAS_EXPIRY, is_due, offset_of
from lastword.table.entry import Answer, PartitionRows, RawEntry, raw_entry
from lastword.table.local_table import LocalTable
from lastword.table.raw_watch import ChangeSource, RawWatch
from lastword.table.scan import Scan, Shape
from lastword.table.serving import Serving
from lastword.table.version_reads import VersionReads
from lastword.table.writing.owned_writes import OwnedWrites
from lastword.table.writing.raw_writes import RawWrites
from lastword.writer.outcome import Outcome
from lastword.writer.write_path import WritePath

T = TypeVar("T")

AT_LEAST_TIMEOUT_S = 10.0


class RawTable(LocalTable):
    """A table in bytes, for code that passes keys and values on. Safe to use from any thread.

    A read of one key needs only the partition of that key; a read of several partitions needs all
    of them, as of one moment. A partition that is not here raises PartitionNotHereError, one that
    is still being restored NotReadyError. A read takes ``at_least``, a position to wait for
    (``timeout_s`` at most), and ``allow_stale``, to be answered before the end of the log is
    reached. The three reads that take a ``shape`` return what it makes of each row instead of a
    RawEntry.

    A read waits until it reflects the writes that were acknowledged to this table before, except
    with ``allow_stale``.

    A row whose time to live is over by ``clock`` when a read begins is hidden. Only ``count``
    includes the row, until its tombstone comes: it is the number that the stores keep.

    ``admin`` and ``log_source`` reach the topic itself. ``past`` has the reads of past moments,
    None unless the table keeps versions. ``owned`` has the writes that depend on the current row,
    None unless owners decide them.
    """

    def __init__(
        self,
        replicas: ReplicaSet,
        record_filter: RecordFilter,
        writer: WritePath,
        *,
        admin: Admin,
        log_source: LogSource,
        serving: Serving,
        metrics: Metrics,
        clock: Clock,
        past: VersionReads | None = None,
        owned: OwnedWrites | None = None,
    ) -> None:
        super().__init__(replicas.topic, record_filter.keyspace, serving)
        self.admin = admin
        self.log_source = log_source
        self.past = past
        self.owned = owned
        self._replicas = replicas
        self._filter = record_filter
        # What each get calls, looked up once.
        self._ensure_open = serving.ensure_open
        self._replica_at = replicas.at
        self.clock = clock
        self._writes = RawWrites(writer, serving, self.keyspace, metrics)
        self._get_latency = metrics.latency("get")
        self._get_many_latency = metrics.latency("get_many")
        self._scan_latency = metrics.latency("scan")
        self._count_latency = metrics.latency("count")

    # -- reads of keys ---------------------------------------------------------------------

    def row(self, key: bytes) -> tuple[int, bytes | None]:
        """The key's partition and row: enough for most reads, at half the cost."""
        if self._get_latency.untimed():
            return self._row(key)
        started_ns = perf_counter_ns()
        found = self._row(key)
        self._get_latency.observe_ns(perf_counter_ns() - started_ns)
        return found

    def _row(self, key: bytes) -> tuple[int, bytes | None]:
        self._ensure_open()
        partition = self.keyspace.partition_of(key)
        replica = self._replica_at(partition)
        if not replica.ready:
            replica.ensure_ready()
        if self._unread_marks:
            self._unread.wait((partition,), AT_LEAST_TIMEOUT_S)
        try:
            row = replica.store.get(key)
        except StoreError as error:
            raise replica.explained(error) from error
        if row is not None and row[0] & HAS_EXPIRY and is_due(row, self.clock.now_ms()):
            return partition, None
        return partition, row

    def get(
        self,
        key: bytes,
        *,
        at_least: Position | None = None,
        timeout_s: float = AT_LEAST_TIMEOUT_S,
        allow_stale: bool = False,
    ) -> Answer[RawEntry | None]:
        """The key's entry, or None when there is no such key."""
        return self.read(
            key, raw_entry, at_least=at_least, timeout_s=timeout_s, allow_stale=allow_stale
        )

    def read(
        self,
        key: bytes,
        shape: Shape[T],
        *,
        at_least: Position | None = None,
        timeout_s: float = AT_LEAST_TIMEOUT_S,
        allow_stale: bool = False,
    ) -> Answer[T | None]:
        """The same, as ``shape`` gives it."""
        partition = self.keyspace.partition_of(key)
        unready = self._serving.admit_read((partition,), at_least, timeout_s, allow_stale)
        started_ns = perf_counter_ns()
        replica = self._replicas.at(partition)
        # Read before the row: the row may be newer than this, never older.
        complete_at_ms, position = replica.complete_at_ms, replica.position
        stale, age_s = replica.freshness
        row = replica.get(key)
        shaped = None
        if row is not None:
            position = max(position, offset_of(row) + 1)
            if not is_due(row, self.clock.now_ms()):
                shaped = shape(partition, key, row)
        at = Position({partition: position}, replica.topic_id, complete_at_ms)
        self._get_latency.observe_ns(perf_counter_ns() - started_ns)
        return Answer(shaped, at, unready or stale, age_s)

    def get_many(
        self,
        keys: Iterable[bytes],
        *,
        at_least: Position | None = None,
        timeout_s: float = AT_LEAST_TIMEOUT_S,
        allow_stale: bool = False,
    ) -> Answer[list[RawEntry]]:
        """The entries of those keys that exist, all as of one moment."""
        answer = self.rows_of(keys, at_least=at_least, timeout_s=timeout_s, allow_stale=allow_stale)
        return answer.with_value(
            [raw_entry(found.partition, *pair) for found in answer.value for pair in found.pairs()]
        )

    def rows(self, keys: list[bytes]) -> list[PartitionRows]:
        """``rows_of`` without the position: enough for most reads, and cheaper."""
        started_ns = perf_counter_ns()
        wanted = self.keyspace.by_partition(keys)
        self._serving.admit_read(wanted, None, AT_LEAST_TIMEOUT_S, allow_stale=False)
        with self._replicas.one_moment(wanted) as replicas:
            stored = [replicas[p].get_many(of_it) for p, of_it in wanted.items()]
        found = PartitionRows.live(wanted, stored, self.clock.now_ms())
        self._get_many_latency.observe_ns(perf_counter_ns() - started_ns)
        return found

    def rows_of(
        self,
        keys: Iterable[bytes],
        *,
        at_least: Position | None = None,
        timeout_s: float = AT_LEAST_TIMEOUT_S,
        allow_stale: bool = False,
    ) -> Answer[list[PartitionRows]]:
        """The rows of those keys that exist, by partition, all as of one moment."""
        started_ns = perf_counter_ns()
        wanted = self.keyspace.by_partition(list(keys))
        unready = self._serving.admit_read(wanted, at_least, timeout_s, allow_stale)
        with self._replicas.one_moment(wanted) as replicas:
            position = position_of(replicas, self._replicas.topic_state.topic_id)
            stale, age_s = freshness_of(replicas.values())
            stored = [replicas[p].get_many(of_it) for p, of_it in wanted.items()]
        found = PartitionRows.live(wanted, stored, self.clock.now_ms())
        self._get_many_latency.observe_ns(perf_counter_ns() - started_ns)
        return Answer(found, position, unready or stale, age_s)

    # -- reads of partitions ---------------------------------------------------------------

    def scan(
        self,
        start: bytes | None = None,
        end: bytes | None = None,
        *,
        reverse: bool = False,
        partitions: Collection[int] | None = None,
        at_least: Position | None = None,
        timeout_s: float = AT_LEAST_TIMEOUT_S,
        allow_stale: bool = False,
    ) -> Scan[RawEntry]:
        """Entries with ``start <= key < end`` in the order of their bytes, as of one moment.

        Covers every partition of the topic, or those named; a partition that is not here is never
        skipped silently.
        """
        return self.walk(
            (start, end),
            raw_entry,
            reverse=reverse,
            partitions=partitions,
            at_least=at_least,
            timeout_s=timeout_s,
            allow_stale=allow_stale,
        )

    def walk(
        self,
        bounds: tuple[bytes | None, bytes | None],
        shape: Shape[T],
        *,
        reverse: bool = False,
        partitions: Collection[int] | None = None,
        at_least: Position | None = None,
        timeout_s: float = AT_LEAST_TIMEOUT_S,
        allow_stale: bool = False,
    ) -> Scan[T]:
        """The same, as ``shape`` gives them."""
        chosen = self._serving.covered(partitions)
        unready = self._serving.admit_read(chosen, at_least, timeout_s, allow_stale)
        started_ns = perf_counter_ns()
        with self._replicas.one_moment(chosen) as replicas:
            position = position_of(replicas, self._replicas.topic_state.topic_id)
            freshness = freshness_of(replicas.values())
            scans = {p: each.scan(*bounds, reverse=reverse) for p, each in replicas.items()}
        self._scan_latency.observe_ns(perf_counter_ns() - started_ns)
        return Scan(
            scans,
            shape,
            reverse=reverse,
            position=position,
            freshness=freshness._replace(stale=unready or freshness.stale),
            now_ms=self.clock.now_ms(),
            explain=lambda partition, error: replicas[partition].explained(error),
        )

    def count(
        self,
        *,
        partitions: Collection[int] | None = None,
        at_least: Position | None = None,
        timeout_s: float = AT_LEAST_TIMEOUT_S,
        allow_stale: bool = False,
    ) -> Answer[int]:
        """The number of keys: of every partition of the topic, or of those named.

        A key whose time to live is over counts until its tombstone is applied.
        """
        chosen = self._serving.covered(partitions)
        unready = self._serving.admit_read(chosen, at_least, timeout_s, allow_stale)
        started_ns = perf_counter_ns()
        replicas = {p: self._replicas.at(p) for p in chosen}
        position = position_of(replicas, self._replicas.topic_state.topic_id)
        stale, age_s = freshness_of(replicas.values())
        keys = sum(replica.count() for replica in replicas.values())
        self._count_latency.observe_ns(perf_counter_ns() - started_ns)
        return Answer(keys, position, unready or stale, age_s)

    # -- writes ----------------------------------------------------------------------------

    def put(
        self,
        key: bytes,
        value: bytes | None,
        *,
        headers: Headers = NO_HEADERS,
        timestamp_ms: int | None = None,
        ttl_ms: int | None = None,
        if_version: Version | Absent | None = None,
    ) -> Version:
        """Write a value, or a tombstone for None; later reads of this table reflect it.

        With ``if_version`` only if the key has that version, or does not exist for ABSENT; else
        raises ConflictError with the current entry.
        """
        return self._writes.put(
            Write(key, value, headers, timestamp_ms, expected=if_version, ttl_ms=ttl_ms)
        )

    def put_many(self, records: Sequence[Write]) -> list[Outcome]:
        """Write many at once, None deletes; one outcome per record, in order.

        Nothing is written unless all their partitions are here and ready.
        """
        return self._writes.put_many(records)

    # -- watching --------------------------------------------------------------------------

    def watch(self, start: Position | None = None) -> ChangeSource:
        """Every batch that is applied from now on, or from ``start`` (where it names a partition).

        Every partition held must be ready.
        """
        self._serving.ensure_ready()
        self._unread.wait(self._replicas.held.keys(), AT_LEAST_TIMEOUT_S)
        watch = RawWatch(self._replicas, self.missed(start or Position()))
        try:
            # A watcher that joins just after a rebuild cut everybody off would miss its changes.
            self._serving.ensure_ready()
        except LastwordError:
            watch.close()
            raise
        return watch

    def missed(self, since: Position) -> MissedChanges:
        """The changes since ``since``, for a watcher that resumes; raises WatchLostError."""
        return MissedChanges(self._replicas, self.log_source, since)

    def records_of_table(self, batch: Batch) -> Iterator[Record]:
        """The records of a batch that belong to the table, every change of a key among them."""
        return self._filter.records_of_table(batch)

    # -- how far ---------------------------------------------------------------------------

    def position(self, partitions: Collection[int] | None = None) -> Position:
        """What reads of these partitions, by default of all that are held here, reflect now."""
        return self._replicas.position(partitions)

    def readable_log(self, partition: int) -> tuple[int, int]:
        """The first offset of a partition's log and the one after the last that can be read."""
        topic_state, replica = self._replicas.topic_state, self._replicas.at(partition)
        # The table's position is readable; records after an open transaction are not yet.
        end = max(topic_state.stable_ends[partition], replica.position)
        return topic_state.starts[partition], end
