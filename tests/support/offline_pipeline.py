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
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.kafka.write.transaction_writer import Output, PositionsAt, TransactionWriter
from lastword.keyspace import Keyspace
from lastword.pipelines import Pipeline
from lastword.pipelines.graph.plan import BatchOrder, Branch, StorePlan, TaskPlan
from lastword.pipelines.operators.events import Tally
from lastword.pipelines.operators.state_view import StateView
from lastword.pipelines.task.any_key_store import AnyKeyStore
from lastword.pipelines.task.partition_run import PartitionRun
from lastword.pipelines.task.partition_state import PartitionState
from lastword.pipelines.task.task_input import RawRecords, TaskInput
from lastword.pipelines.task.task_report import StoreSize
from lastword.records import TopicPartition
from lastword.stores.base import Store
from lastword.stores.memory import MemoryStore

Rows = dict[bytes, tuple[bytes, int]]
"""Value and timestamp by key."""

_NOWHERE = Connection(bootstrap_servers="none:1")
_CHECKPOINT = b"checkpoint"


class OfflineWriter(TransactionWriter):
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


class _OfflineState(PartitionState):
    def __init__(self, plan: StorePlan, store: Store) -> None:
        self.plan = plan
        self.restored = 0
        self._store = store

    def bring_to(self, changelog_offset: int) -> None:
        pass

    def commit(self, view: StateView, changelog_offset: int) -> None:
        view.commit(_CHECKPOINT, changelog_offset)

    def size(self) -> StoreSize:
        return StoreSize(0, 0)

    def close(self) -> None:
        pass


class _OfflineRun(PartitionRun):
    stores_at_hand: Mapping[str, Store]

    def _state(self, plan: StorePlan) -> PartitionState:
        return _OfflineState(plan, self.stores_at_hand[plan.name])


class OfflinePipeline:
    """One partition of a pipeline, from its sources to whatever it writes."""

    def __init__(self, app: Pipeline) -> None:
        self._topology = app._topology
        self._writer = OfflineWriter()
        self._stores: dict[str, Store] = {}
        self._committed: Mapping[TopicPartition, Committed] = {}
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

    def _plan(self, part: Sequence[Branch]) -> TaskPlan:
        topics = frozenset[str]().union(*(branch.topics for branch in part))
        return TaskPlan(
            application_id=self._topology.application_id,
            connection=_NOWHERE,
            partitions=1,
            sources={topic: self._topology.sources[topic] for topic in topics},
            branches=tuple(part),
            quarantine_topic="quarantine",
            state_dir=Path("nowhere"),
            sink_keyspaces={
                branch.sink.topic: Keyspace(1) for branch in part if branch.sink is not None
            },
        )

    def _batches(self, plan: TaskPlan, cuts: Sequence[int]) -> Iterator[TaskInput]:
        logs = {topic: self.topic(topic) for topic in plan.sources}
        longest = max(map(len, logs.values()))
        for start, end in pairwise([0, *sorted(cut for cut in cuts if cut < longest), longest]):
            parts = {topic: _raw(log, start, end) for topic, log in sorted(logs.items())}
            yield TaskInput(0, {topic: raw for topic, raw in parts.items() if raw.offsets})

    def _run_batch(self, plan: TaskPlan, given: TaskInput) -> None:
        for store in (store for branch in plan.branches for store in branch.stores):
            self._stores.setdefault(store.name, _new_store())
        order = BatchOrder(self._committed, b"")
        run = _OfflineRun(plan, given, self._committed, order, KafkaLog(plan.connection))
        run.stores_at_hand = self._stores
        self._committed = run.commit(self._writer, b"")
        self.tally.add(run.tally)

    def _lose_stores(self, plan: TaskPlan) -> None:
        """New ones, filled from the changelogs, as where a partition has moved to."""
        for name, changelog in plan.changelogs.items():
            self._stores[name] = _new_store()
            for offset, (key, value, timestamp_ms, _) in enumerate(self.topic(changelog), 1):
                view = StateView(self._stores[name], every_update=True)
                view.put(key or b"", value, timestamp_ms)
                view.commit(_CHECKPOINT, offset)


def rows_of(records: Iterable[tuple[bytes, bytes | None, int]]) -> Rows:
    """What is left of key, value and timestamp of each record, when the last one counts."""
    rows: Rows = {}
    for key, value, timestamp_ms in records:
        if value is None:
            rows.pop(key, None)
        else:
            rows[key] = (value, timestamp_ms)
    return rows


def _new_store() -> Store:
    store = AnyKeyStore(MemoryStore())
    store.open()
    return store


def _raw(log: Sequence[Output], start: int, end: int) -> RawRecords:
    records = log[start:end]
    return RawRecords(
        [key for key, _, _, _ in records],
        [value for _, value, _, _ in records],
        list(range(start, start + len(records))),
        [timestamp_ms for _, _, timestamp_ms, _ in records],
    )
