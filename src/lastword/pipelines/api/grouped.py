"""The computations per key: each result is a table in a changelog topic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Unpack

from lastword.codecs.resolve import CodecSpec, codec, sent_to_executors, value_spec_for
from lastword.codecs.split import split_of
from lastword.durations import Duration
from lastword.errors import ConfigError
from lastword.pipelines.api.folds import (
    Aggregate,
    Average,
    Count,
    Extreme,
    Field,
    Fold,
    Latest,
    Merge,
    Reduce,
    Sum,
    check_field,
)
from lastword.pipelines.api.result import Result
from lastword.pipelines.api.store_options import NO_SETTINGS, Options, changelog_of
from lastword.pipelines.api.windows import SessionWindows, Windows, retention_of
from lastword.pipelines.graph.node import StorePlan
from lastword.pipelines.graph.repartition import through_topic
from lastword.pipelines.graph.topology import Topology
from lastword.pipelines.operators.make_fold import MakeFold


@dataclass(frozen=True)
class GroupedStream:
    """Events by key, or by key and window after ``windowed_by``.

    Each method names its result ``store`` and takes the ``Options``.
    """

    topology: Topology
    node: str
    key: CodecSpec
    value: CodecSpec | None
    rekeyed: bool = False
    windows: Windows | None = None
    capacity: int | None = None

    def windowed_by(self, windows: Windows) -> GroupedStream:
        """The same, per window of event time."""
        return replace(self, windows=windows)

    def lru(self, capacity: int) -> GroupedStream:
        """The same for at most ``capacity`` keys per partition.

        Beyond that, the least recently used key is deleted with a tombstone.
        """
        if capacity < 1:
            raise ConfigError(
                f"a store cannot hold {capacity} keys", hint="give lru() a capacity above 0"
            )
        return replace(self, capacity=capacity)

    def count(self, store: str, **options: Unpack[Options]) -> Result:
        """The number of events of each key, in the format of Java's LongSerializer."""
        return self._fold("count", store, Count(), "int64", options)

    def sum(self, field: Field, store: str, **options: Unpack[Options]) -> Result:
        """The total of a field."""
        return self._fold("sum", store, Sum(check_field(field)), "json", options)

    def min(self, field: Field, store: str, **options: Unpack[Options]) -> Result:
        """The smallest value of a field."""
        return self._fold("min", store, Extreme(check_field(field), min), "json", options)

    def max(self, field: Field, store: str, **options: Unpack[Options]) -> Result:
        """The largest value of a field."""
        return self._fold("max", store, Extreme(check_field(field), max), "json", options)

    def avg(self, field: Field, store: str, **options: Unpack[Options]) -> Result:
        """The mean of a field, as ``{"avg": …, "count": …, "sum": …}``."""
        return self._fold("avg", store, Average(check_field(field)), "json", options)

    def reduce(
        self, reducer: Callable[[Any, Any], Any], store: str, **options: Unpack[Options]
    ) -> Result:
        """``reducer(old, new)`` over the values; a result of None deletes the key."""
        return self._fold("reduce", store, Reduce(reducer), self.value or "json", options)

    def aggregate(
        self,
        initializer: Callable[[], Any],
        aggregator: Callable[[Any, Any, Any], Any],
        store: str,
        *,
        merger: Callable[[Any, Any, Any], Any] | None = None,
        **options: Unpack[Options],
    ) -> Result:
        """``aggregator(key, value, aggregate)`` from ``initializer()``; None deletes the key.

        Sessions can merge: ``merger(key, earlier, later)`` then combines their two aggregates.
        """
        return self._fold(
            "aggregate", store, Aggregate(initializer, aggregator, merger), "json", options
        )

    def latest(self, store: str, **options: Unpack[Options]) -> Result:
        """The last value of each key; an event without a value deletes the key."""
        return self._fold("latest", store, Latest(), self.value or "json", options)

    def merge(self, store: str, **options: Unpack[Options]) -> Result:
        """Partial updates merged into the full state of each key."""
        return self._fold("merge", store, Merge(), "json", options)

    def _fold(
        self, kind: str, store: str, fold: Fold, usual: CodecSpec, options: Options
    ) -> Result:
        self._check(fold, options)
        value = sent_to_executors(options.get("value", usual))
        _refuse_id_headers(store, value)
        retention_ms = self._retention_ms(options.get("retention"))
        changelog = changelog_of(
            self.topology, store, options.get("changelog", NO_SETTINGS), retention_ms
        )
        value = value_spec_for(changelog or store, value)
        make = MakeFold(
            fold,
            self.key,
            value,
            windows=self.windows,
            retention_ms=retention_ms or 0,
            reach_ms=self._reach_ms(options.get("retention")),
            capacity=self.capacity,
            every_update=not options.get("cache", True),
        )
        node = self.node
        if self.rekeyed:
            node = through_topic(self.topology, store, node, self.value)
        stores = (StorePlan(store, changelog, make.every_update),)
        self.topology.add_stateful(self._named(kind), (node,), stores, make, is_result=True)
        key = self.key if self.windows is None else self.windows.key_codec(self.key)
        self.topology.catalog(changelog, key=key, value=value, store=store)
        if self.windows is None:
            return Result(store, changelog, key, value)
        return Result(store, changelog, key, value, self.topology)

    def _named(self, kind: str) -> str:
        """The node's operation, as the topology shows it."""
        if self.capacity is not None:
            return f"{kind} of {self.capacity} keys"
        return kind if self.windows is None else f"{kind} in {self.windows.described}"

    def _check(self, fold: Fold, options: Options) -> None:
        """Raise ConfigError here rather than fail on an executor."""
        sessions = isinstance(self.windows, SessionWindows)
        if sessions and isinstance(fold, Aggregate) and fold.merger is None:
            raise ConfigError(
                "sessions can merge, and this aggregate has no merger",
                hint="aggregate(initializer, aggregator, store, merger=lambda key, a, b: ...)",
            )
        if self.capacity is not None and self.windows is not None:
            raise ConfigError(
                "windows are removed by age, not by number",
                hint="use retention for windows, and lru() without them",
            )
        if self.capacity is not None and options.get("changelog", NO_SETTINGS) is None:
            raise ConfigError(
                "an lru store needs its changelog, which records the order of use",
                hint="leave changelog=None out",
            )

    def _reach_ms(self, retention: Duration | None) -> int:
        """Kafka Streams' default retention of sessions affects its results, so ours is the same."""
        if self.windows is None:
            return 0
        return self.windows.open_ms if retention is None else retention_of(self.windows, retention)

    def _retention_ms(self, retention: Duration | None) -> int | None:
        if self.windows is not None:
            return retention_of(self.windows, retention)
        if retention is not None:
            raise ConfigError(
                "only windows have a retention", hint="group, then .windowed_by(tumbling('60s'))"
            )
        return None


def _refuse_id_headers(store: str, value: CodecSpec) -> None:
    if split_of(codec(value)) is not None:
        raise ConfigError(
            f"the store {store!r} keeps values without headers, so its codec cannot write the ids "
            "of schemas to headers",
            hint="give it value=registry.avro(..., id_in='payload'); to_table() can use headers",
        )
