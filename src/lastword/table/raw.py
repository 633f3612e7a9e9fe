"""A table in bytes, for whoever passes keys and values on without looking into them."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns
from typing import NamedTuple

from lastword.errors import LastwordError
from lastword.kafka.connection import Connection
from lastword.kafka.write.producer import Delivery, Outgoing
from lastword.metrics import Metrics
from lastword.records import Headers, Position, Version
from lastword.replicas.apply.rows import decode_row
from lastword.replicas.partition_views import currency_of
from lastword.replicas.sweep.soundness import Currency
from lastword.replicas.watch.feed import FeedItem, Subscription
from lastword.table.parts import Parts
from lastword.table.queries import EnsureReady
from lastword.table.scan import Scan


class RawEntry(NamedTuple):
    """A key's current record, as it is stored."""

    key: bytes
    version: Version
    timestamp_ms: int
    headers: Headers
    value: bytes


class RawTable:
    """Reads and writes in bytes, counted as the table's own. Safe to use from any thread.

    The caller judges the values: ``parts.decoder`` has the codecs and the policy for bad ones.
    """

    def __init__(
        self,
        parts: Parts,
        connection: Connection,
        metrics: Metrics,
        ensure_ready: EnsureReady,
    ) -> None:
        self.parts = parts
        self.connection = connection
        self._replicas = parts.replicas
        self._keyspace = parts.record_filter.keyspace
        self._ensure_ready = ensure_ready
        self._get_latency = metrics.latency("get")
        self._scan_latency = metrics.latency("scan")
        self._put_latency = metrics.latency("put")
        self._delete_latency = metrics.latency("delete")
        self._put_many_latency = metrics.latency("put_many")

    def partition_of(self, key: bytes) -> int:
        """Where the records of ``key`` are."""
        return self._keyspace.partition_of(key)

    def get(self, key: bytes, *, allow_stale: bool = False) -> tuple[RawEntry | None, Currency]:
        """The entry, or None when there is no such key; and how current that is."""
        partition = self._keyspace.partition_of(key)
        if not allow_stale:
            self._ensure_ready([partition])
        started_ns = perf_counter_ns()
        replica = self._replicas.at(partition)
        currency = replica.currency
        row = replica.get(key)
        entry = None if row is None else raw_entry(partition, key, row)
        self._get_latency.observe_ns(perf_counter_ns() - started_ns)
        return entry, currency

    def scan(
        self,
        start: bytes | None = None,
        end: bytes | None = None,
        *,
        partition: int | None = None,
        reverse: bool = False,
        allow_stale: bool = False,
    ) -> Scan[RawEntry]:
        """Entries with ``start <= key < end`` in the order of their bytes.

        ``partition`` is where all of them are, if that is known.
        """
        partitions = None if partition is None else [partition]
        if not allow_stale:
            self._ensure_ready(partitions)
        started_ns = perf_counter_ns()
        with self._replicas.one_moment(partitions) as replicas:
            position = self._replicas.position()
            currency = currency_of(replicas.values())
            scans = {p: each.scan(start, end, reverse=reverse) for p, each in replicas.items()}
        self._scan_latency.observe_ns(perf_counter_ns() - started_ns)
        return Scan(
            scans,
            raw_entry,
            reverse=reverse,
            position=position,
            currency=currency,
            explain=lambda home, error: replicas[home].explained(error),
        )

    def put(self, key: bytes, value: bytes | None) -> Version:
        """Write a value, or a tombstone for None; readable here when it returns."""
        self._ensure_ready([self.partition_of(key)])
        latency = self._delete_latency if value is None else self._put_latency
        started_ns = perf_counter_ns()
        version = self.parts.writer.write_one(Outgoing(key, value))
        latency.observe_ns(perf_counter_ns() - started_ns)
        return version

    def put_many(self, records: Sequence[tuple[bytes, bytes | None]]) -> list[Delivery]:
        """Write many at once, None deletes; one delivery per record, in order."""
        self._ensure_ready(None)
        started_ns = perf_counter_ns()
        deliveries = self.parts.writer.write([Outgoing(key, value) for key, value in records])
        self._put_many_latency.observe_ns(perf_counter_ns() - started_ns)
        return deliveries

    def position(self) -> Position:
        """What reads reflect now."""
        return self._replicas.position()

    def subscribe(self) -> Subscription:
        """Every batch that is applied from now on; ``Subscription.position`` is where that is."""
        self._ensure_ready(None)
        subscription = self._replicas.subscribe()
        try:
            # One that joins just after a rebuild has cut everybody off would miss what it brings.
            self._ensure_ready(None)
        except LastwordError:
            subscription.close()
            raise
        return subscription

    def take(self, subscription: Subscription, timeout_s: float) -> FeedItem | Position:
        """What comes next; when nothing does within ``timeout_s``, where the subscription is.

        That may be beyond the last record, for transaction markers take offsets too.
        """
        item = subscription.take(timeout_s)
        if item is not None:
            return item
        # With the lock nothing is being published: what is not waiting does not exist.
        with self._replicas.one_moment():
            item = subscription.take(0)
            return self._replicas.position() if item is None else item

    def why_not_ready(self) -> LastwordError | None:
        """The error that reads raise now, or None when they are served."""
        try:
            self._ensure_ready(None)
        except LastwordError as error:
            return error
        return None


def raw_entry(partition: int, key: bytes, row: bytes) -> RawEntry:
    """What a store's row says."""
    offset, timestamp_ms, headers, value = decode_row(row)
    return RawEntry(key, Version(partition, offset), timestamp_ms, headers, value)
