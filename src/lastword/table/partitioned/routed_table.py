"""The core of a partitioned table: every read goes to whoever keeps the partitions it needs."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping
from time import perf_counter_ns
from typing import Any, Self, TypeVar

from lastword.errors import ConfigError, LastwordError
from lastword.metrics import Metrics
from lastword.records import Position, Version
from lastword.replicas.sweep.soundness import Freshness
from lastword.replicas.watch.missed import MissedChanges
from lastword.table.entry import Answer, PartitionRows
from lastword.table.partitioned.log_watch import LoggedChanges, LogWatch
from lastword.table.partitioned.messages import (
    CountWanted,
    KeysWanted,
    ReadReply,
    SpanWanted,
    Wanted,
)
from lastword.table.partitioned.own_writes import OwnWrites
from lastword.table.partitioned.placement import NEVER, Placement
from lastword.table.partitioned.read_router import ReadRouter
from lastword.table.partitioned.routed_scan import PAGE_ROWS, RoutedScan
from lastword.table.partitioned.routed_versions import RoutedVersions
from lastword.table.partitioned.routing import Routing
from lastword.table.raw import AT_LEAST_TIMEOUT_S, RawTable
from lastword.table.scan import Scan, Shape

T = TypeVar("T")


class RoutedTable(RawTable):
    """A RawTable whose partitions are shared by several instances. Safe to use from any thread.

    Each answer says how stale it is and which instances answered. A read of several partitions sees
    those of each instance as of one moment, and a scan each page of a partition. ``allow_stale``
    makes no difference: a copy that is still being restored answers nobody.
    """

    def __init__(
        self,
        *arguments: Any,
        placement: Placement,
        router: ReadRouter,
        written: OwnWrites,
        routing: Routing,
        metrics: Metrics,
        **others: Any,
    ) -> None:
        super().__init__(*arguments, metrics=metrics, **others)
        self._placement, self._router = placement, router
        self._written, self._routing = written, routing
        self._staleness = metrics.latency("staleness")
        self._route_past()

    routes = True

    def reflect(self, version: Version) -> None:
        """Have later reads of this table reflect a write, wherever they are answered."""
        self._written.reflect(version)

    def within(self, routing: Routing) -> Self:
        """The same table, whose reads are routed like this."""
        other = copy.copy(self)
        other._routing = routing
        other._route_past()
        return other

    def _route_past(self) -> None:
        if self.past is not None:
            self.past = self.past.through(
                RoutedVersions(lambda wanted: self._asked(wanted, None, AT_LEAST_TIMEOUT_S))
            )

    # -- reads of keys ---------------------------------------------------------------------

    def _row(self, key: bytes) -> tuple[int, bytes | None]:
        partition = self.keyspace.partition_of(key)
        written = self._written.of(partition)
        until = self._placement.may_answer_until(partition, written, self._routing)
        if until > NEVER:
            try:
                found = super()._row(key)
                if self.clock.monotonic() <= until:
                    return found
            except LastwordError:
                self._ensure_open()  # else it has just moved away: ask whoever keeps it now
        (reply,) = self._asked(KeysWanted({partition: [key]}), None, AT_LEAST_TIMEOUT_S)
        return partition, reply.rows[0][2] if reply.rows else None

    def read(
        self,
        key: bytes,
        shape: Shape[T],
        *,
        at_least: Position | None = None,
        timeout_s: float = AT_LEAST_TIMEOUT_S,
        allow_stale: bool = False,
    ) -> Answer[T | None]:
        """The key's entry, as ``shape`` gives it, or None when there is no such key."""
        started_ns = perf_counter_ns()
        partition = self.keyspace.partition_of(key)
        replies = self._asked(KeysWanted({partition: [key]}), at_least, timeout_s)
        shaped = None
        for _, _, row in replies[0].rows:
            shaped = shape(partition, key, row)
        self._get_latency.observe_ns(perf_counter_ns() - started_ns)
        return self._answer(shaped, replies)

    def rows(self, keys: list[bytes]) -> list[PartitionRows]:
        """The rows of those keys that exist, as those who answered gave them."""
        return self.rows_of(keys).value

    def rows_of(
        self,
        keys: Iterable[bytes],
        *,
        at_least: Position | None = None,
        timeout_s: float = AT_LEAST_TIMEOUT_S,
        allow_stale: bool = False,
    ) -> Answer[list[PartitionRows]]:
        """The rows of those keys that exist, as those who answered gave them."""
        started_ns = perf_counter_ns()
        wanted = self.keyspace.by_partition(list(keys))
        replies = self._asked(
            KeysWanted({p: list(of_it) for p, of_it in wanted.items()}), at_least, timeout_s
        )
        found = [PartitionRows(p, [key], [row]) for reply in replies for p, key, row in reply.rows]
        self._get_many_latency.observe_ns(perf_counter_ns() - started_ns)
        return self._answer(found, replies)

    # -- reads of partitions ---------------------------------------------------------------

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
        """Entries in the order of their keys, from every partition, as ``shape`` gives them."""
        started_ns = perf_counter_ns()
        chosen = sorted(self._serving.covered(partitions))
        first = SpanWanted(chosen, *bounds, reverse, PAGE_ROWS)
        replies = self._asked(first, at_least, timeout_s)

        def next_page(partition: int, last: bytes) -> ReadReply:
            start, end = bounds
            span = (start, last) if reverse else (last + b"\0", end)
            # An empty page tells no last key: then everything is still to come.
            wanted = SpanWanted([partition], *(span if last else bounds), reverse, PAGE_ROWS)
            (reply,) = self._asked(wanted, None, timeout_s)
            return reply

        answer = self._answer(None, replies)
        self._scan_latency.observe_ns(perf_counter_ns() - started_ns)
        return Scan(
            {p: scan for reply in replies for p, scan in _scans(reply, next_page).items()},
            shape,
            reverse=reverse,
            position=answer.position,
            freshness=Freshness(answer.stale, answer.contact_age_s),
            now_ms=self.clock.now_ms(),
            staleness_s=answer.staleness_s,
            answered_by=answer.answered_by,
        )

    def count(
        self,
        *,
        partitions: Collection[int] | None = None,
        at_least: Position | None = None,
        timeout_s: float = AT_LEAST_TIMEOUT_S,
        allow_stale: bool = False,
    ) -> Answer[int]:
        """The number of keys: of every partition of the topic, or of those named."""
        started_ns = perf_counter_ns()
        chosen = sorted(self._serving.covered(partitions))
        replies = self._asked(CountWanted(chosen), at_least, timeout_s)
        self._count_latency.observe_ns(perf_counter_ns() - started_ns)
        return self._answer(sum(reply.count for reply in replies), replies)

    # -- watching --------------------------------------------------------------------------

    def watch(self, start: Position | None = None) -> LogWatch:
        """Every batch of the log from now on, or from ``start`` (where it names a partition).

        Raises WatchLostError if a change since ``start`` may be gone, and ConnectionFailedError.
        """
        self._ensure_open()
        missed = self.missed(start or Position())
        at_ms = self.clock.now_ms()
        bounds = self.admin.bounds(self.topic, range(self.keyspace.partitions))
        # Not the high watermark: what an open transaction holds back becomes visible later.
        ends = {p: found.stable_end for p, found in bounds.items()}
        return LogWatch(
            self._replicas,
            self.log_source,
            missed.start(Position(ends, self._replicas.topic_state.topic_id, at_ms)),
            taken=self._written.note,
            ensure_open=self._ensure_open,
            clock=self.clock,
        )

    def missed(self, since: Position) -> MissedChanges:
        """The changes since ``since``, wherever their partitions are; raises WatchLostError."""
        if self._replicas.topic_state.deletes_old_segments:
            raise ConfigError(
                f"{self.topic} drops old segments, which deletes keys without a record in the log",
                hint="watch a table of the same topic that is opened with layout='replicated'",
            )
        return LoggedChanges(self._replicas, self.log_source, since, self.clock)

    # -- the rest --------------------------------------------------------------------------

    def _asked(
        self, wanted: Wanted, at_least: Position | None, timeout_s: float
    ) -> list[ReadReply]:
        self._ensure_open()
        if at_least is not None:
            self._serving.require_own_position(at_least)
        if not wanted.partitions:
            return []
        return self._router.read(
            wanted,
            self._routing,
            at_least=self._written.at_least(wanted.partitions, at_least),
            topic_id=self._replicas.topic_state.topic_id,
            timeout_s=timeout_s,
        )

    def _answer(self, value: T, replies: list[ReadReply]) -> Answer[T]:
        offsets: dict[int, int] = {}
        for reply in replies:
            offsets |= reply.offsets
        staleness_s = max((reply.age_s for reply in replies), default=0.0)
        self._staleness.observe_ns(int(staleness_s * 1e9))
        position = Position(
            dict(sorted(offsets.items())),
            self._replicas.topic_state.topic_id,
            min((reply.complete_at_ms for reply in replies), default=0),
        )
        return Answer(
            value,
            position,
            any(reply.stale for reply in replies),
            max((reply.contact_age_s for reply in replies), default=0.0),
            staleness_s=staleness_s,
            answered_by=tuple(sorted({reply.instance for reply in replies})),
        )


def _scans(reply: ReadReply, next_page: Any) -> Mapping[int, RoutedScan]:
    rows: dict[int, list[tuple[bytes, bytes]]] = {p: [] for p in reply.offsets}
    for partition, key, row in reply.rows:
        rows[partition].append((key, row))
    return {
        p: RoutedScan(p, of_it, finished=p not in reply.unfinished, next_page=next_page)
        for p, of_it in rows.items()
    }
