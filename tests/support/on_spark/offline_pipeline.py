"""A pipeline's tasks without Spark and without Kafka: topics are lists, stores are in memory.

Everything between the records of a batch and the transaction is the product's own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from lastword.kafka.connection import Connection
from lastword.kafka.groups import Committed
from lastword.kafka.write.transaction_writer import Output, PositionsAt
from lastword.keyspace import Keyspace
from lastword.pipelines import Pipeline
from lastword.pipelines.graph.node import StorePlan
from lastword.pipelines.graph.part import Part, sinks_of, topics_of
from lastword.pipelines.graph.task_plan import BatchOrder, TaskPlan
from lastword.pipelines.operators.events import Tally
from lastword.pipelines.task.partition_run import PartitionRun
from lastword.pipelines.task.task_input import RawRecords, TaskInput
from lastword.pipelines.task.task_stores import ScratchState
from lastword.records import TopicPartition
from lastword.stores.memory import MemoryStore

Rows = dict[bytes, tuple[bytes, int]]
"""Value and timestamp by key."""

_NOWHERE = Connection(bootstrap_servers="none:1")


class OfflineWriter:
    """Keeps what would be committed, place by place."""

    def __init__(self) -> None:
        self.written: defaultdict[TopicPartition, list[Output]] = defaultdict(list)

    def write(
        self,
        outputs: Mapping[TopicPartition, Sequence[Output]],
        positions_at: PositionsAt,
        group_metadata: bytes,
    ) -> dict[TopicPartition, int]:
        for place, records in outputs.items():
            self.written[place] += records
        ends = {place: len(self.written[place]) for place in outputs}
        positions_at(ends)
        return ends


class OfflineStores:
    """Stores in memory, each made when it is first asked for."""

    def __init__(self) -> None:
        self._stores: dict[str, MemoryStore] = {}

    def state(self, plan: StorePlan) -> ScratchState:
        return ScratchState(plan, self.store(plan.name))

    def store(self, name: str) -> MemoryStore:
        if name not in self._stores:
            self._stores[name] = MemoryStore()
            self._stores[name].open()
        return self._stores[name]

    def restore(self, name: str, changelog: Sequence[Output]) -> None:
        """A new one, filled from the changelog, as where a partition has moved to."""
        self._stores.pop(name, None)
        state = self.state(StorePlan(name, None, every_update=True))
        for offset, (key, value, timestamp_ms, _) in enumerate(changelog, 1):
            view = state.view()
            view.put(key or b"", value, timestamp_ms)
            state.commit(view, offset)


class OfflinePipeline:
    """One partition of a pipeline, from its sources to its results."""

    def __init__(self, app: Pipeline) -> None:
        self._topology = app._topology
        self._writer = OfflineWriter()
        self._stores = OfflineStores()
        self.committed: Mapping[TopicPartition, Committed] = {}
        self.tally = Tally()

    def run(
        self,
        sources: Mapping[str, Sequence[Output]],
        cuts: Sequence[int] = (),
        *,
        lose_stores: bool = False,
    ) -> None:
        """Process all of it; batches end where ``cuts`` says, counted in records of a topic."""
        for topic, records in sources.items():
            self._writer.written[TopicPartition(topic, 0)] += records
        for part in self._topology.parts():
            plan = self._plan(part)
            for given in self._batches(plan, cuts):
                self._run_batch(plan, given)
                if lose_stores:
                    self._lose_stores(plan)

    def topic(self, name: str) -> list[Output]:
        """What is in a topic, in order."""
        return self._writer.written[TopicPartition(name, 0)]

    def table(self, name: str | None) -> Rows:
        """What a compacted topic holds."""
        return rows_of(
            (key or b"", value, at_ms) for key, value, at_ms, _ in self.topic(name or "")
        )

    def _plan(self, part: Part) -> TaskPlan:
        return TaskPlan(
            application_id=self._topology.application_id,
            connection=_NOWHERE,
            partitions=1,
            sources={topic: self._topology.sources[topic] for topic in topics_of(part)},
            nodes=part,
            quarantine_topic="quarantine",
            state_dir=Path("nowhere"),
            sink_keyspaces={sink.topic: Keyspace(1) for sink in sinks_of(part)},
        )

    def _batches(self, plan: TaskPlan, cuts: Sequence[int]) -> Iterator[TaskInput]:
        logs = {topic: self.topic(topic) for topic in plan.sources}
        longest = max(map(len, logs.values()))
        for start, end in pairwise([0, *sorted(cut for cut in cuts if cut < longest), longest]):
            parts = {topic: _raw(log, start, end) for topic, log in sorted(logs.items())}
            yield TaskInput(0, {topic: raw for topic, raw in parts.items() if raw.offsets})

    def _run_batch(self, plan: TaskPlan, given: TaskInput) -> None:
        order = BatchOrder(self.committed, b"")
        run = PartitionRun(plan, given, self.committed, order, self._stores)
        self.committed = run.commit(self._writer, b"")
        self.tally.add(run.tally)

    def _lose_stores(self, plan: TaskPlan) -> None:
        """New ones, filled from the changelogs, as where a partition has moved to."""
        for name, changelog in plan.changelogs.items():
            self._stores.restore(name, self.topic(changelog))


def rows_of(records: Iterable[tuple[bytes, bytes | None, int]]) -> Rows:
    """What is left of key, value and timestamp of each record, when the last one counts."""
    rows: Rows = {}
    for key, value, timestamp_ms in records:
        if value is None:
            rows.pop(key, None)
        else:
            rows[key] = (value, timestamp_ms)
    return rows


def _raw(log: Sequence[Output], start: int, end: int) -> RawRecords:
    records = log[start:end]
    return RawRecords(
        [key for key, _, _, _ in records],
        [value for _, value, _, _ in records],
        list(range(start, start + len(records))),
        [timestamp_ms for _, _, timestamp_ms, _ in records],
    )
