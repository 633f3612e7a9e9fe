"""What can be computed per key: each result is a table, in a changelog topic of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

from lastword.codecs.resolve import CodecSpec
from lastword.codecs.windowed import windowed
from lastword.errors import ConfigError
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
_NO_SETTINGS: Settings = {}


class Options(TypedDict, total=False):
    """What every computation takes.

    changelog   settings of the changelog topic, or None for a store that is not backed up
    value       the codec of the result, where its default does not fit
    retention   how long windows stay after their end; a day by default
    cache       False writes every update to the changelog instead of one per key and batch;
                the final value is the same
    """

    changelog: Settings | None
    value: CodecSpec
    retention: Duration
    cache: bool


@dataclass(frozen=True)
class Result:
    """A table that a pipeline maintains.

    Open it as ``Table(result.topic, key=result.key, value=result.value)``; the topic is None for
    a store that is not backed up.
    """

    store: str
    topic: str | None
    key: CodecSpec
    value: CodecSpec


@dataclass(frozen=True)
class MakeFold:
    """Builds the operator on the executor; codecs do not travel, their names do."""

    fold: Fold
    key: CodecSpec
    value: CodecSpec
    windows: TimeWindows | None
    retention_ms: int
    every_update: bool

    def __call__(self) -> FoldOperator:
        """A fresh operator for one task."""
        return FoldOperator(
            self.fold,
            key=self.key,
            value=self.value,
            windows=self.windows,
            retention_ms=self.retention_ms,
            every_update=self.every_update,
        )


@dataclass(frozen=True)
class GroupedStream:
    """Events by key, or by key and window after ``windowed_by``.

    Each method names its result ``store`` and takes the ``Options``.
    """

    topology: Topology
    topics: frozenset[str]
    key: CodecSpec
    value: CodecSpec | None
    steps: tuple[Step, ...] = ()
    rekeyed: bool = False
    windows: TimeWindows | None = None

    def windowed_by(self, windows: TimeWindows) -> GroupedStream:
        """The same, per window of event time."""
        return replace(self, windows=windows)

    def count(self, store: str, **options: Unpack[Options]) -> Result:
        """How many events each key has had, as Java's LongSerializer writes it."""
        return self._fold(store, Count(), "int64", options)

    def sum(self, field: Field, store: str, **options: Unpack[Options]) -> Result:
        """The total of a field."""
        return self._fold(store, Sum(check_field(field)), "json", options)

    def min(self, field: Field, store: str, **options: Unpack[Options]) -> Result:
        """The smallest value of a field."""
        return self._fold(store, Extreme(check_field(field), min), "json", options)

    def max(self, field: Field, store: str, **options: Unpack[Options]) -> Result:
        """The largest value of a field."""
        return self._fold(store, Extreme(check_field(field), max), "json", options)

    def avg(self, field: Field, store: str, **options: Unpack[Options]) -> Result:
        """The mean of a field, as ``{"avg": …, "count": …, "sum": …}``."""
        return self._fold(store, Average(check_field(field)), "json", options)

    def reduce(
        self, reducer: Callable[[Any, Any], Any], store: str, **options: Unpack[Options]
    ) -> Result:
        """``reducer(old, new)`` over the values; None forgets the key."""
        return self._fold(store, Reduce(reducer), self.value or "json", options)

    def aggregate(
        self,
        initializer: Callable[[], Any],
        aggregator: Callable[[Any, Any, Any], Any],
        store: str,
        **options: Unpack[Options],
    ) -> Result:
        """``aggregator(key, value, aggregate)`` from ``initializer()`` on; None forgets the key."""
        return self._fold(store, Aggregate(initializer, aggregator), "json", options)

    def latest(self, store: str, **options: Unpack[Options]) -> Result:
        """The last value of each key; an event without a value forgets it."""
        return self._fold(store, Latest(), self.value or "json", options)

    def merge(self, store: str, **options: Unpack[Options]) -> Result:
        """Partial updates folded into the full state of each key."""
        return self._fold(store, Merge(), "json", options)

    def _fold(self, store: str, fold: Fold, codec: CodecSpec, options: Options) -> Result:
        value = options.get("value", codec)
        retention_ms = self._retention_ms(options.get("retention"))
        topic = self._changelog(store, options.get("changelog", _NO_SETTINGS), retention_ms)
        every_update = not options.get("cache", True)
        make = MakeFold(fold, self.key, value, self.windows, retention_ms, every_update)
        plan = StorePlan(store, topic, make, every_update)
        topics, steps = self._repartitioned(store) if self.rekeyed else (self.topics, self.steps)
        self.topology.add_branch(Branch(topics, steps, store=plan))
        windows = self.windows
        key = self.key if windows is None else windowed(self.key, windows.size_ms)
        return Result(store, topic, key, value)

    def _retention_ms(self, retention: Duration | None) -> int:
        if self.windows is not None:
            return retention_of(self.windows, retention)
        if retention is not None:
            raise ConfigError(
                "only windows have a retention", hint="group, then .windowed_by(tumbling('60s'))"
            )
        return 0

    def _changelog(self, store: str, settings: Settings | None, retention_ms: int) -> str | None:
        topic = self.topology.topic_of(store, "changelog")
        if settings is None:
            return None
        expiry_ms = None if self.windows is None else retention_ms
        self.topology.add_own_topic(OwnTopic(topic, "changelog", as_settings(settings), expiry_ms))
        return topic

    def _repartitioned(self, store: str) -> tuple[frozenset[str], tuple[Step, ...]]:
        """Through a topic where the new keys have their own partitions."""
        topic = self.topology.topic_of(store, "repartition")
        # msgpack takes whatever a function made of the values, bytes included.
        value = self.value or "msgpack"
        self.topology.add_own_topic(OwnTopic(topic, "repartition"))
        steps: tuple[Step, ...] = (*self.steps, EncodeValues(value))
        self.topology.add_branch(Branch(self.topics, steps, sink=topic))
        self.topology.add_source(SourcePlan(topic, value))
        return frozenset((topic,)), ()


def as_settings(settings: Settings) -> dict[str, str]:
    """As Kafka writes them.

    >>> as_settings({"min.cleanable.dirty.ratio": 0.3, "preallocate": True})
    {'min.cleanable.dirty.ratio': '0.3', 'preallocate': 'true'}
    """
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in settings.items()
    }
