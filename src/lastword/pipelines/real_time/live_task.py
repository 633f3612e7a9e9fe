"""A task on an executor in real-time mode: processes some partitions until the job ends.

It takes over the transactional ids of its partitions, continues from the committed positions, and
commits at most once per interval, keeping stores and producers open. Each commit is the same
``PartitionRun`` as in a micro-batch, so both modes share positions, ids and stores.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import FencedError, TakenOverError
from lastword.kafka.admin import Admin
from lastword.kafka.groups import Committed, Groups
from lastword.kafka.log.collector_pause import COLLECTOR_PAUSED
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.kafka.log.source import LogSource
from lastword.kafka.write.transaction_writer import TransactionWriter
from lastword.pipelines.graph.task_plan import BatchOrder, TaskPlan
from lastword.pipelines.real_time.commit_log import UnreportedCommits
from lastword.pipelines.real_time.driver_line import DriverLine
from lastword.pipelines.real_time.live_input import LiveInput
from lastword.pipelines.real_time.live_sources import LiveSources
from lastword.pipelines.task.partition_run import PartitionRun
from lastword.pipelines.task.task_stores import TaskStores
from lastword.records import TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa

_IDLE_S = 0.25
_REPORT_S = 1.0
_CATCH_UP_S = 1.0
"""How long a task that is behind collects records for one commit, unless it is full before."""


@dataclass(frozen=True)
class LiveOrder:
    """What all tasks of a job get; ``partitions`` by task number.

    ``starts`` says where to begin in partitions without a committed position. ``until`` is the end
    of a run that processes only existing records; None runs until it is stopped.
    """

    address: tuple[str, int]
    token: str
    partitions: tuple[tuple[int, ...], ...]
    starts: Mapping[TopicPartition, int]
    interval_s: float
    until: Mapping[TopicPartition, int] | None = None


@dataclass(slots=True)
class _HeldPartition:
    """One partition: its transactional id, committed positions, stores and input."""

    writer: TransactionWriter
    committed: Mapping[TopicPartition, Committed]
    stores: TaskStores
    input: LiveInput


def run_live(
    batches: Iterator[pa.RecordBatch], plan: TaskPlan, order: LiveOrder
) -> Iterator[pa.RecordBatch]:
    """Run the tasks with these numbers until the driver stops them; yields no rows."""
    logging.getLogger("lastword.kafka.librdkafka").setLevel(logging.CRITICAL + 1)
    for batch in batches:
        for number in batch.column(0).to_pylist():
            line = DriverLine(order.address, order.token, number)
            try:
                LiveTask(plan, order, number, line, KafkaLog(plan.connection)).run()
            finally:
                line.close()
        yield batch.slice(0, 0)


class LiveTask:
    """One attempt at one task."""

    def __init__(
        self,
        plan: TaskPlan,
        order: LiveOrder,
        number: int,
        line: DriverLine,
        log_source: LogSource,
    ) -> None:
        self._plan = plan
        self._order = order
        self._partitions = order.partitions[number]
        self._line = line
        self._log_source = log_source
        self._clock = SYSTEM_CLOCK
        self._held: dict[int, _HeldPartition] = {}
        self._commits = UnreportedCommits()
        self._reported_at = SYSTEM_CLOCK.monotonic()
        self._admin: Admin | None = None

    def run(self) -> None:
        """Run until the driver stops the task, or everything up to ``until`` is processed.

        An attempt that was superseded, or has lost its driver, raises: returning would tell Spark
        that its part is done.
        """
        with ExitStack() as opened:
            groups = Groups(self._plan.connection)
            opened.callback(groups.close)
            if self._plan.tables:
                self._admin = opened.enter_context(Admin(self._plan.connection))
            for partition in self._partitions:
                self._held[partition] = self._hold(partition, groups)
                opened.callback(self._held[partition].stores.close)
            inputs = {partition: held.input for partition, held in self._held.items()}
            sources = LiveSources(self._log_source, inputs)
            opened.callback(sources.close)
            self._loop(sources, groups)
            self._report()
        if self._line.is_superseded or (
            self._line.stopping.is_set() and not self._line.was_told_to_stop
        ):
            raise TakenOverError("another attempt runs this task, or its driver is gone")

    def _hold(self, partition: int, groups: Groups) -> _HeldPartition:
        """Take over the id, then read the positions, which no other process can move any more."""
        writer = TransactionWriter(self._plan.connection, self._plan.transactional_id(partition))
        writer.take_over()
        places = [TopicPartition(topic, partition) for topic in self._plan.sources]
        committed = groups.committed(self._plan.group, places)
        starts = {
            place.topic: max(
                self._order.starts[place], committed[place].offset if place in committed else 0
            )
            for place in places
        }
        return _HeldPartition(
            writer,
            committed,
            TaskStores(self._plan, partition, self._log_source),
            LiveInput(partition, starts, headers=self._plan.wants_headers),
        )

    def _loop(self, sources: LiveSources, groups: Groups) -> None:
        due = self._clock.monotonic()
        while not self._line.stopping.is_set() and not self._is_done():
            self._gather(sources, due)
            due = self._clock.monotonic() + self._order.interval_s
            for held in self._held.values():
                if held.input.is_ready and not self._line.stopping.is_set():
                    self._commit(held, groups)
            if self._clock.monotonic() - self._reported_at >= _REPORT_S:
                self._report()

    def _is_done(self) -> bool:
        until = self._order.until
        return until is not None and all(
            held.input.has_processed(until) for held in self._held.values()
        )

    def _gather(self, sources: LiveSources, due: float) -> None:
        """Read until it is time to commit or to report.

        After a pause the first record is committed at once: the interval is only a minimum
        distance.
        """
        inputs = [held.input for held in self._held.values()]
        since: float | None = None
        while not self._line.stopping.is_set():
            now = self._clock.monotonic()
            timeout_s = _IDLE_S
            if any(each.is_ready for each in inputs):
                since = now if since is None else since
                behind = any(each.is_behind for each in inputs)
                deadline = max(due, since + _CATCH_UP_S) if behind else due
                if now >= deadline or any(each.has_piece for each in inputs):
                    return
                timeout_s = min(_IDLE_S, deadline - now)
                if not behind:
                    # Waking up for each fetch would gain nothing.
                    self._line.stopping.wait(timeout_s)
                    timeout_s = 0.0
            elif self._is_done() or now - self._reported_at >= _REPORT_S:
                return
            sources.poll(timeout_s)

    def _commit(self, held: _HeldPartition, groups: Groups) -> None:
        """Commit what was read; retry if only the generation of the driver has changed."""
        metadata = self._line.metadata
        try:
            self._run(held, metadata)
        except FencedError:
            if self._line.ask_membership() == metadata:
                raise
            # Another driver tried to join and was refused. After an error, take over the id.
            again = self._hold(held.input.partition, groups)
            held.writer, held.committed = again.writer, again.committed
            self._run(held, self._line.metadata)

    def _run(self, held: _HeldPartition, metadata: bytes) -> None:
        partition, spans = held.input.partition, held.input.spans(held.committed)
        order = BatchOrder(held.committed, metadata, self._tables(partition), spans)
        # A commit creates many objects without cycles: reference counting alone frees them.
        with COLLECTOR_PAUSED:
            run = PartitionRun(self._plan, held.input.given(), held.committed, order, held.stores)
            held.committed = run.commit(held.writer, metadata)
            held.input.drop_processed(held.committed)
        self._commits.add(partition, run)

    def _tables(self, partition: int) -> dict[TopicPartition, tuple[int, int]]:
        """The current ends of the joined tables."""
        bounds: dict[TopicPartition, tuple[int, int]] = {}
        if self._admin is not None:
            for topic in set(self._plan.tables.values()):
                each = self._admin.bounds(topic, [partition])[partition]
                bounds[TopicPartition(topic, partition)] = (each.start, each.stable_end)
        return bounds

    def _report(self) -> None:
        self._reported_at = self._clock.monotonic()
        if reports := self._commits.take():
            self._line.report(reports)
