"""The tasks of one partition without Spark, and the driver that gives them out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import ConnectionFailedError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.groups import Committed, Groups
from lastword.kafka.groups.driver_lock import DriverLock
from lastword.pipelines.api.folds import Count
from lastword.pipelines.graph.node import (
    MergeNode,
    Node,
    SourceNode,
    SourcePlan,
    StatefulNode,
    StorePlan,
)
from lastword.pipelines.graph.own_topics import ensure_topic
from lastword.pipelines.graph.task_plan import BatchOrder, TaskPlan
from lastword.pipelines.graph.topology import OwnTopic
from lastword.pipelines.operators.make_fold import MakeFold
from lastword.pipelines.task import run_task as task
from lastword.pipelines.task.task_input import COLUMNS
from lastword.records import TopicPartition
from tests.support.local_tables.tables import read_raw


def batch(source: str, *records: tuple[int, str], partition: int = 1) -> Iterator[pa.RecordBatch]:
    """Records of the source as Spark hands them to a task: offset and key."""
    count = len(records)
    columns = [
        pa.array([key.encode() for _, key in records], pa.binary()),
        pa.array([b"{}"] * count, pa.binary()),
        pa.array([source] * count, pa.string()),
        pa.array([partition] * count, pa.int32()),
        pa.array([offset for offset, _ in records], pa.int64()),
        pa.array([SYSTEM_CLOCK.now_ms()] * count, pa.int64()),
    ]
    return iter([pa.RecordBatch.from_arrays(columns, names=list(COLUMNS))])


def attempt(
    plan: TaskPlan, order: BatchOrder, source: str, records: list[tuple[int, str]]
) -> dict[str, int]:
    """One attempt in a separate process, as on another executor.

    The broker may answer a commit that is just being fenced with an unknown error. Spark tries a
    failed task again, and so does this.
    """
    try:
        (report,) = task.run_task(batch(source, *records), plan, order)
    except ConnectionFailedError:
        (report,) = task.run_task(batch(source, *records), plan, order)
    return dict(report.to_pylist()[0])


class Worker:
    """A count over partition 1 of a topic, with the driver that gives out its tasks."""

    def __init__(self, connection: Connection, admin: Admin, app: str, state_dir: Path) -> None:
        self.connection = connection
        self.admin = admin
        self.changelog = f"{app}-counts-changelog"
        self.source = f"{app}-source"
        control = OwnTopic(f"{app}-control", "control")
        for topic in (control, OwnTopic(f"{app}-quarantine", "quarantine")):
            ensure_topic(admin, topic, partitions=1)
        for topic in (
            OwnTopic(self.source, "repartition"),
            OwnTopic(self.changelog, "changelog"),
        ):
            ensure_topic(admin, topic, partitions=2)
        self.plan = TaskPlan(
            application_id=app,
            connection=connection,
            partitions=2,
            sources={self.source: SourcePlan(self.source, "json")},
            nodes=self.nodes(self.source),
            quarantine_topic=f"{app}-quarantine",
            state_dir=state_dir,
        )
        self.driver_lock = self.join(app, control.name)
        self.keeps_stores_after: int | None = None

    def nodes(self, *topics: str) -> tuple[Node, ...]:
        """A count of the events of these topics."""
        sources = [SourceNode(f"source {topic}", (), "source", topic) for topic in sorted(topics)]
        merge = MergeNode("merge 1", tuple(each.name for each in sources), "merge")
        store = StorePlan("counts", self.changelog)
        make = MakeFold(Count(), "string", "json")
        count = StatefulNode("counts", (merge.name,), "count", (store,), make, is_result=True)
        return (*sources, merge, count)

    def join(self, app: str, control: str) -> DriverLock:
        driver_lock = DriverLock(
            self.connection, app, control, client_id="driver", on_lost=lambda: None
        )
        driver_lock.join()
        return driver_lock

    def run(self, *records: tuple[int, str]) -> dict[str, int]:
        """One task attempt; what it reports."""
        (report,) = task.run_task(batch(self.source, *records), self.plan, self.order)
        return dict(report.to_pylist()[0])

    @property
    def order(self) -> BatchOrder:
        """What the driver orders now."""
        metadata = self.driver_lock.metadata
        return BatchOrder(self.committed, metadata, keeps_stores_after=self.keeps_stores_after)

    def move_to_another_process(self) -> None:
        """The next attempt knows no writer, as in a worker that was just started."""
        task._held.pop(task.writer_key(self.plan, 1), None)

    @property
    def table(self) -> dict[bytes, bytes]:
        rows: dict[bytes, bytes] = {}
        for record in read_raw(self.connection, self.changelog):
            assert record.partition == 1
            assert record.key is not None
            assert record.value is not None
            rows[record.key] = record.value
        return rows

    @property
    def committed(self) -> dict[TopicPartition, Committed]:
        groups = Groups(self.connection)
        return groups.committed(self.plan.application_id, self.plan.source_partitions)

    @property
    def position(self) -> int:
        return self.committed[TopicPartition(self.source, 1)].offset
