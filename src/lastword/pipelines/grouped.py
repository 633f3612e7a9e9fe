"""What can be computed per key: each result is a table, in a changelog topic of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lastword.codecs.resolve import CodecSpec
from lastword.pipelines.durations import Duration
from lastword.pipelines.fold_operator import FoldOperator
from lastword.pipelines.folds import (
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
from lastword.pipelines.plan import Branch, SourcePlan, Step, StorePlan
from lastword.pipelines.steps import EncodeValues
from lastword.pipelines.topology import OwnTopic, Topology
from lastword.pipelines.windows import TimeWindows, retention_of

Settings = Mapping[str, str | int | float]


@dataclass(frozen=True)
class Result:
    """A table that a pipeline maintains: open it by its topic, ``key`` and ``value`` codec."""

    store: str
    topic: str | None
    key: CodecSpec
    value: CodecSpec


@dataclass(frozen=True)
class MakeFold:
    """Builds the operator on the executor; codecs do not travel, their names do."""

    fold: Fold
    key: CodecSpec
    windows: TimeWindows | None
    retention_ms: int
    every_update: bool

    def __call__(self) -> FoldOperator:
        """A fresh operator for one task."""
        return FoldOperator(
            self.fold,
            self.key,
            windows=self.windows,
            retention_ms=self.retention_ms,
            every_update=self.every_update,
        )


@dataclass(frozen=True)
class GroupedStream:
    """Events by key, or by key and window after ``windowed_by``.

    ``store`` names the result. ``changelog`` are settings of its topic, or None for a store that
    is not backed up. ``cache=False`` writes every update to the changelog instead of one per key
    and commit; the final value is the same.
    """

    topology: Topology
    topics: frozenset[str]
    key: CodecSpec
    steps: tuple[Step, ...] = ()
    rekeyed: bool = False
    windows: TimeWindows | None = None

    def windowed_by(self, windows: TimeWindows) -> GroupedStream:
        """The same, per window of event time."""
        return GroupedStream(
            self.topology, self.topics, self.key, self.steps, self.rekeyed, windows
        )

    def count(self, store: str, **options: Any) -> Result:
        """How many events each key has had."""
        return self.fold(store, Count(), **options)

    def sum(self, field: Field, store: str, **options: Any) -> Result:
        """The total of a field."""
        return self.fold(store, Sum(check_field(field)), **options)

    def min(self, field: Field, store: str, **options: Any) -> Result:
        """The smallest value of a field."""
        return self.fold(store, Extreme(check_field(field), min), **options)

    def max(self, field: Field, store: str, **options: Any) -> Result:
        """The largest value of a field."""
        return self.fold(store, Extreme(check_field(field), max), **options)

    def avg(self, field: Field, store: str, **options: Any) -> Result:
        """The mean of a field, as ``{"avg": …, "count": …, "sum": …}``."""
        return self.fold(store, Average(check_field(field)), **options)

    def reduce(self, reducer: Callable[[Any, Any], Any], store: str, **options: Any) -> Result:
        """``reducer(old, new)`` over the values; None forgets the key."""
        return self.fold(store, Reduce(reducer), **options)

    def aggregate(
        self,
        initializer: Callable[[], Any],
        aggregator: Callable[[Any, Any, Any], Any],
        store: str,
        **options: Any,
    ) -> Result:
        """``aggregator(key, value, aggregate)`` from ``initializer()`` on; None forgets the key."""
        return self.fold(store, Aggregate(initializer, aggregator), **options)

    def latest(self, store: str, **options: Any) -> Result:
        """The last value of each key."""
        return self.fold(store, Latest(), **options)

    def merge(self, store: str, **options: Any) -> Result:
        """Partial updates folded into the full state of each key."""
        return self.fold(store, Merge(), **options)

    def fold(
        self,
        store: str,
        fold: Fold,
        *,
        changelog: Settings | None = {},  # noqa: B006 - never written to
        retention: Duration | None = None,
        cache: bool = True,
    ) -> Result:
        """Materialise a fold; the methods above are names for the common ones."""
        retention_ms = 0 if self.windows is None else retention_of(self.windows, retention)
        topic = None if changelog is None else self.topology.topic_of(store, "changelog")
        if topic is not None:
            settings = {name: str(value) for name, value in (changelog or {}).items()}
            expiry_ms = None if self.windows is None else retention_ms
            self.topology.add_own_topic(OwnTopic(topic, "changelog", settings, expiry_ms))
        make = MakeFold(fold, self.key, self.windows, retention_ms, not cache)
        plan = StorePlan(store, topic, make, every_update=not cache)
        topics, steps = self._repartitioned(store) if self.rekeyed else (self.topics, self.steps)
        self.topology.branches.append(Branch(topics, steps, store=plan))
        return Result(store, topic, self.key, fold.codec)

    def _repartitioned(self, store: str) -> tuple[frozenset[str], tuple[Step, ...]]:
        """Through a topic where the new keys have their own partitions."""
        topic = self.topology.topic_of(store, "repartition")
        self.topology.add_own_topic(OwnTopic(topic, "repartition"))
        steps: tuple[Step, ...] = (*self.steps, EncodeValues("json"))
        self.topology.branches.append(Branch(self.topics, steps, sink=topic))
        self.topology.add_source(SourcePlan(topic, self.key, "json"))
        return frozenset((topic,)), ()
