"""Checks a store on an executor: folds its events again, and compares with its changelog."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from lastword.clock import SYSTEM_CLOCK
from lastword.kafka.admin import Admin
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.kafka.log.source import LogSource
from lastword.kafka.write.transaction_writer import Output, PositionsAt
from lastword.pipelines.graph.node import StorePlan
from lastword.pipelines.graph.task_plan import BatchOrder, TaskPlan
from lastword.pipelines.task.any_key_store import AnyKeyStore
from lastword.pipelines.task.partition_run import PartitionRun, Positions
from lastword.pipelines.task.task_input import read_inputs
from lastword.pipelines.task.task_stores import ScratchState
from lastword.records import TopicPartition
from lastword.replicas.catch_up import catch_up
from lastword.replicas.topic.topic_state import read_topic_state
from lastword.rows import decode_row
from lastword.stores.base import Store
from lastword.stores.rocksdb import RocksDBStore

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(slots=True)
class Counts:
    """The result of comparing one partition."""

    events: int = 0
    rows: int = 0
    different: int = 0
    missing: int = 0
    extra: int = 0


COUNTS_SCHEMA = ", ".join(f"{each.name} long" for each in fields(Counts))


@dataclass(frozen=True)
class ReplayPlan:
    """What to fold, and the changelog ends to compare with, by partition.

    ``task`` holds the nodes that lead to the store, and no others.
    """

    task: TaskPlan
    store: str
    changelog_ends: Mapping[int, int]


def replay_task(batches: Iterator[pa.RecordBatch], plan: ReplayPlan) -> Iterator[pa.RecordBatch]:
    """Fold one partition from its first event and compare; yields one row of counts."""
    import pyarrow as pa  # noqa: PLC0415 - on executors only

    with tempfile.TemporaryDirectory(prefix="lastword-") as scratch, ExitStack() as opened:
        replay = Replay(plan, KafkaLog(plan.task.connection), Path(scratch), opened)
        for batch in batches:
            replay.fold(batch)
        row = asdict(replay.compare())
    yield pa.RecordBatch.from_arrays(
        [pa.array([number], pa.int64()) for number in row.values()], names=list(row)
    )


class Replay:
    """One partition's events run through the graph again, into temporary stores."""

    def __init__(
        self, plan: ReplayPlan, log_source: LogSource, scratch: Path, opened: ExitStack
    ) -> None:
        self._plan = plan
        self._log_source = log_source
        self._scratch = scratch
        self._opened = opened
        self._counts = Counts()
        self._partition: int | None = None
        self._committed: Positions = {}
        self._ends = Counter[TopicPartition]()
        self._stores: dict[str, RocksDBStore] = {}

    def fold(self, batch: pa.RecordBatch) -> None:
        """Fold the next events of the partition."""
        for given in read_inputs([batch]):
            self._partition = given.partition
            order = BatchOrder(self._committed, b"")
            run = PartitionRun(self._plan.task, given, self._committed, order, self)
            self._committed = run.commit(self, b"")
            self._counts.events += run.tally.records

    def state(self, plan: StorePlan) -> ScratchState:
        """A temporary store, empty at first."""
        if plan.name not in self._stores:
            self._stores[plan.name] = self._open(plan.name)
        return ScratchState(plan, self._stores[plan.name])

    def write(
        self,
        outputs: Mapping[TopicPartition, Sequence[Output]],
        positions_at: PositionsAt,
        _: bytes,
    ) -> dict[TopicPartition, int]:
        """Write nothing, and count the offsets that the records would have."""
        self._ends.update({place: len(records) for place, records in outputs.items()})
        ends = {place: self._ends[place] for place in outputs}
        positions_at(ends)
        return ends

    def compare(self) -> Counts:
        """Compare row by row, in key order."""
        if self._partition is None:
            return self._counts
        there = _rows(self._restored(self._partition))
        mine = _rows(self._stores[self._plan.store])
        left, right = next(mine, None), next(there, None)
        while left is not None or right is not None:
            if right is None or (left is not None and left[0] < right[0]):
                self._counts.missing += 1
                left = next(mine, None)
            elif left is None or right[0] < left[0]:
                self._counts.extra += 1
                right = next(there, None)
            else:
                self._counts.rows += 1
                self._counts.different += left[1] != right[1]
                left, right = next(mine, None), next(there, None)
        return self._counts

    def _restored(self, partition: int) -> Store:
        changelog = self._plan.task.changelogs[self._plan.store]
        with Admin(self._plan.task.connection) as admin:
            topic_state = read_topic_state(admin, changelog, SYSTEM_CLOCK.now_ms())
        store = self._open("as it is")
        catch_up(
            self._log_source,
            changelog,
            partition,
            AnyKeyStore(store),
            topic_state=topic_state,
            until=self._plan.changelog_ends.get(partition, 0),
            clock=SYSTEM_CLOCK,
            takes_empty_keys=True,
        )
        return store

    def _open(self, name: str) -> RocksDBStore:
        store = RocksDBStore(self._scratch / name)
        store.open()
        self._opened.callback(store.close)
        return store


def _rows(store: Store) -> Iterator[tuple[bytes, bytes]]:
    for key, row in store.scan():
        yield key, decode_row(row).value
