"""Every read of a table, answered with the position it reflects, or as the bare value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from time import perf_counter_ns
from typing import Any, TypeVar

from lastword.errors import ConfigError, LastwordError
from lastword.keyspace import Keyspace
from lastword.metrics import Metrics
from lastword.records import Position
from lastword.replicas.partition_views import currency_of
from lastword.replicas.replica_set import ReplicaSet
from lastword.table.decoder import Decoder
from lastword.table.entry import Answer, Entry
from lastword.table.scan import Scan, key_bounds

T = TypeVar("T")

AT_LEAST_TIMEOUT_S = 10.0

EnsureReady = Callable[[Collection[int] | None], None]
"""Raises unless these partitions, None for all, may be read and written."""


class Queries:
    """Reads that say how current they are. Safe to use from any thread.

    Every method takes ``at_least``, a position to wait for (``timeout_s`` at most), and
    ``allow_stale``, to be answered before the table has reached the end of its topic.
    """

    def __init__(
        self,
        replicas: ReplicaSet,
        decoder: Decoder,
        keyspace: Keyspace,
        metrics: Metrics,
        ensure_ready: EnsureReady,
    ) -> None:
        self._replicas = replicas
        self._decoder = decoder
        self._ensure_ready = ensure_ready
        self._keyspace = keyspace
        self._get_latency = metrics.latency("get")
        self._get_many_latency = metrics.latency("get_many")
        self._scan_latency = metrics.latency("scan")
        self._count_latency = metrics.latency("count")

    def get(
        self,
        key: Any,
        *,
        at_least: Position | None = None,
        timeout_s: float = AT_LEAST_TIMEOUT_S,
        allow_stale: bool = False,
    ) -> Answer[Entry | None]:
        """The key's entry, or None when there is no such key."""
        raw = self._decoder.key.encode(key)
        partition = self._partition(raw)
        unready = self._admit(at_least, timeout_s, allow_stale, [partition])
        started_ns = perf_counter_ns()
        replica = self._replicas.at(partition)
        # Read before the row: the row may be newer than this, never older.
        complete_at_ms, position = replica.complete_at_ms, replica.position
        stale, age_s = replica.currency
        row = replica.get(raw)
        entry = None if row is None else self._decoder.entry(partition, raw, row)
        if entry is not None:
            position = max(position, entry.version.offset + 1)
        at = Position({partition: position}, replica.topic_id, complete_at_ms)
        self._get_latency.observe_ns(perf_counter_ns() - started_ns)
        return Answer(entry, at, unready or stale, age_s)

    def value(self, key: Any, default: Any) -> Any:
        """Only the key's value, which most reads are about: half the cost of a whole answer."""
        raw = self._decoder.key.encode(key)
        partition = self._partition(raw)
        self._ensure_ready((partition,))
        started_ns = perf_counter_ns()
        row = self._replicas.at(partition).get(raw)
        value = default if row is None else self._decoder.row_value(partition, row, default)
        self._get_latency.observe_ns(perf_counter_ns() - started_ns)
        return value

    def contains(
        self,
        key: Any,
        *,
        at_least: Position | None = None,
        timeout_s: float = AT_LEAST_TIMEOUT_S,
        allow_stale: bool = False,
    ) -> Answer[bool]:
        """Whether there is such a key."""
        answer = self.get(key, at_least=at_least, timeout_s=timeout_s, allow_stale=allow_stale)
        return Answer(answer.value is not None, answer.position, answer.stale, answer.contact_age_s)

    def get_many(
        self,
        keys: Iterable[Any],
        *,
        at_least: Position | None = None,
        timeout_s: float = AT_LEAST_TIMEOUT_S,
        allow_stale: bool = False,
    ) -> Answer[dict[Any, Entry]]:
        """The entries of those keys that exist, all as of one moment."""
        wanted: dict[int, list[bytes]] = {}
        for key in keys:
            raw = self._decoder.key.encode(key)
            wanted.setdefault(self._partition(raw), []).append(raw)
        unready = self._admit(at_least, timeout_s, allow_stale, wanted)
        started_ns = perf_counter_ns()
        with self._replicas.one_moment(wanted) as replicas:
            position = self._replicas.position()
            currency = currency_of(replicas.values())
            rows = {p: replicas[p].get_many(raws) for p, raws in wanted.items()}
        found: dict[Any, Entry] = {}
        for partition, raws in wanted.items():
            for raw, row in zip(raws, rows[partition], strict=True):
                entry = None if row is None else self._decoder.entry(partition, raw, row)
                if entry is not None:
                    found[entry.key] = entry
        self._get_many_latency.observe_ns(perf_counter_ns() - started_ns)
        return Answer(found, position, unready or currency.stale, currency.contact_age_s)

    def count(
        self,
        *,
        at_least: Position | None = None,
        timeout_s: float = AT_LEAST_TIMEOUT_S,
        allow_stale: bool = False,
    ) -> Answer[int]:
        """The number of keys."""
        unready = self._admit(at_least, timeout_s, allow_stale)
        started_ns = perf_counter_ns()
        position, currency = self._replicas.position(), self._replicas.currency()
        rows = sum(replica.count() for replica in self._replicas.held.values())
        self._count_latency.observe_ns(perf_counter_ns() - started_ns)
        return Answer(rows, position, unready or currency.stale, currency.contact_age_s)

    def scan(
        self,
        start: Any = None,
        end: Any = None,
        *,
        prefix: Any = None,
        reverse: bool = False,
        at_least: Position | None = None,
        timeout_s: float = AT_LEAST_TIMEOUT_S,
        allow_stale: bool = False,
    ) -> Scan[Entry]:
        """Entries in key order: ``start <= key < end``, or those that begin with ``prefix``."""
        unready = self._admit(at_least, timeout_s, allow_stale)
        bounds = key_bounds(self._decoder.key, start, end, prefix)
        return self._scan(None, bounds, reverse, self._decoder.entry, unready)

    def pairs(
        self, start: Any = None, end: Any = None, *, prefix: Any = None, reverse: bool = False
    ) -> Scan[tuple[Any, Any]]:
        """The same scan as plain keys and values."""
        self._admit(None, 0.0, False)

        def pair(partition: int, raw: bytes, row: bytes) -> tuple[Any, Any] | None:
            entry = self._decoder.entry(partition, raw, row)
            return None if entry is None else (entry.key, entry.value)

        return self._scan(
            None, key_bounds(self._decoder.key, start, end, prefix), reverse, pair, False
        )

    def windows(
        self,
        key: Any,
        from_ms: int = 0,
        until_ms: int | None = None,
        *,
        at_least: Position | None = None,
        timeout_s: float = AT_LEAST_TIMEOUT_S,
        allow_stale: bool = False,
    ) -> Scan[Entry]:
        """The windows of one key that start at ``from_ms <= start < until_ms``, in time order."""
        codec = self._decoder.key
        if not hasattr(codec, "time_bounds"):
            raise ConfigError(
                f"a table with {codec.name} keys has no windows",
                hint="open it with key=windowed(...) or key=session(...)",
            )
        start, end = codec.time_bounds(key, from_ms, until_ms)
        home = [self._partition(start)]
        unready = self._admit(at_least, timeout_s, allow_stale, home)

        def same_key(partition: int, raw: bytes, row: bytes) -> Entry | None:
            return self._decoder.entry(partition, raw, row) if len(raw) == len(start) else None

        return self._scan(home, (start, end), False, same_key, unready)

    def _scan(
        self,
        partitions: Collection[int] | None,
        bounds: tuple[bytes | None, bytes | None],
        reverse: bool,
        shape: Callable[[int, bytes, bytes], T | None],
        unready: bool,
    ) -> Scan[T]:
        started_ns = perf_counter_ns()
        with self._replicas.one_moment(partitions) as replicas:
            position = self._replicas.position(partitions)
            currency = currency_of(replicas.values())
            scans = {p: each.scan(*bounds, reverse=reverse) for p, each in replicas.items()}
        self._scan_latency.observe_ns(perf_counter_ns() - started_ns)
        currency = currency._replace(stale=unready or currency.stale)
        return Scan(
            scans,
            shape,
            reverse=reverse,
            position=position,
            currency=currency,
            explain=lambda partition, error: replicas[partition].explained(error),
        )

    def _partition(self, raw: bytes) -> int:
        return self._keyspace.partition_of(raw)

    def _admit(
        self,
        at_least: Position | None,
        timeout_s: float,
        allow_stale: bool,
        partitions: Collection[int] | None = None,
    ) -> bool:
        """Raise unless a read of these partitions, by default of all, may be answered.

        Returns whether they are not ready.
        """
        unready = False
        try:
            self._ensure_ready(partitions)
        except LastwordError:
            if not allow_stale:
                raise
            unready = True
        if at_least is not None:
            if max(at_least.offsets, default=0) >= self._keyspace.partitions:
                raise ConfigError(
                    f"the position {at_least} names partitions that {self._replicas.topic} has not",
                    hint="a position comes from an answer, or from the version of a write",
                )
            if at_least.is_foreign_to(self._replicas.topic_state.topic_id):
                raise ConfigError(
                    f"the position {at_least} is of a topic that {self._replicas.topic} replaced",
                    hint="read without at_least, and go on from the position of that answer",
                )
            self._replicas.wait_for(at_least, timeout_s)
        return unready
