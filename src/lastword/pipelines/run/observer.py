"""The metrics of a running pipeline, and the reports of its batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial

from lastword.metrics import Metrics
from lastword.pipelines.api.state import PipelineLife, PipelineState
from lastword.pipelines.operators.events import Tally
from lastword.pipelines.task.task_report import StoreSize

OF_STREAM = frozenset(("records", "skipped", "restored"))
"""Counts of a batch that belong to no store; the others are by stream and store."""

LEVELS = frozenset(("held_back",))
"""Gauges among the counts of a batch: the last value is kept, they do not add up."""


NO_STORE = ""
"""The label for what was counted before any store."""


@dataclass(frozen=True, slots=True)
class BatchReport:
    """The result of one batch of one stream.

    ``stores`` has the sizes of its stores, over all partitions processed in this run. ``lag`` is
    the number of unprocessed records of its sources, None if unknown. ``by_store`` has the counts
    of ``tally`` that belong to a store, such as late records of its windows; the remaining counts
    have no store, such as values that could not be decoded.
    """

    sources: tuple[str, ...]
    seconds: float
    tally: Tally
    lag: int | None = None
    stores: Mapping[str, StoreSize] = field(default_factory=dict)
    by_store: Mapping[str, Tally] = field(default_factory=dict)

    @property
    def stream(self) -> str:
        """The sources, joined to one name."""
        return "+".join(self.sources)


class Observer:
    """Turns batches into metrics and passes them on."""

    def __init__(self, application_id: str, life: PipelineLife) -> None:
        self.metrics = Metrics(pipeline=application_id)
        self.on_batch: Callable[[BatchReport], None] | None = None
        self._stores: dict[str, StoreSize] = {}
        self._lag: dict[str, int] = {}
        self._levels: dict[tuple[str, str, str], int] = {}
        for state in PipelineState:
            is_in = partial(_is_in, life, state)
            self.metrics.gauge("pipeline_state", is_in, state=state.value)

    def batch(self, report: BatchReport) -> None:
        """Count the results of a batch."""
        for name, number in asdict(report.tally).items():
            if name in OF_STREAM:
                self.metrics.counter(f"pipeline_{name}_total", stream=report.stream).add(number)
                continue
            counts = {store: getattr(tally, name) for store, tally in report.by_store.items()}
            counts[NO_STORE] = number - sum(counts.values())
            for store, count in counts.items():
                self._count(name, count, report.stream, store)
        batches = self.metrics.latency(report.stream, name="pipeline_batch_seconds")
        batches.observe_ns(round(report.seconds * 1e9))
        for store, size in report.stores.items():
            if store not in self._stores:
                self._show_store(store)
            self._stores[store] = size
        if self.on_batch is not None:
            self.on_batch(report)

    def lag(self, lag: Mapping[str, int]) -> None:
        """Set the lag of each source."""
        for topic, records in lag.items():
            if topic not in self._lag:
                read = partial(self._lag.__getitem__, topic)
                self.metrics.gauge("pipeline_lag_records", read, topic=topic)
            self._lag[topic] = records

    def _count(self, name: str, count: int, stream: str, store: str) -> None:
        if name in LEVELS:
            read = partial(self._levels.__getitem__, (name, stream, store))
            self.metrics.gauge(f"pipeline_{name}", read, stream=stream, store=store)
            self._levels[name, stream, store] = count
        else:
            counter = self.metrics.counter(f"pipeline_{name}_total", stream=stream, store=store)
            counter.add(count)

    def _show_store(self, store: str) -> None:
        sizes = self._stores
        self.metrics.gauge("pipeline_store_rows", lambda: sizes[store].rows, store=store)
        self.metrics.gauge("pipeline_store_bytes", lambda: sizes[store].bytes, store=store)


def _is_in(life: PipelineLife, state: PipelineState) -> bool:
    return life.state is state
