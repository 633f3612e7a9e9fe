"""A task on an executor: one source partition of a batch, from Arrow to a transaction.

Keep worker-wide caches only in this module: Spark pickles copies of what a nested function refers
to, but imports this module.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import PartitionCountError, TakenOverError
from lastword.kafka.groups import Committed, Groups
from lastword.kafka.log.collector_pause import COLLECTOR_PAUSED
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.kafka.write.transaction_writer import TransactionWriter
from lastword.pipelines.graph.task_plan import BatchOrder, TaskPlan
from lastword.pipelines.task.partition_run import PartitionRun
from lastword.pipelines.task.store_keeper import Cached, StoreKeeper
from lastword.pipelines.task.task_input import TaskInput, read_inputs
from lastword.pipelines.task.task_report import TaskReport, to_arrow
from lastword.pipelines.task.task_stores import TaskStores
from lastword.records import TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

TAKE_OVERS_MAX = 3
ORDER_PROPERTY = "lastword.order"
"""The property of a Spark job that has the order of its batch."""


@dataclass(slots=True)
class _HeldWriter:
    """A writer of this worker, and the positions that cannot move while it is not fenced.

    They belong to one driver, identified by its ``group_metadata``: between two drivers a person
    may have reset them.
    """

    writer: TransactionWriter
    group_metadata: bytes
    committed: Mapping[TopicPartition, Committed]
    batches: int = 0

    def is_steady(self, order: BatchOrder) -> bool:
        """Whether the partition has stayed with this worker long enough to keep its stores."""
        after = order.keeps_stores_after
        return after is not None and self.batches >= after

    def is_fenced(self, known: Mapping[TopicPartition, Committed], partition: int) -> bool:
        """Whether another process has committed since: the partition ran elsewhere meanwhile.

        Checking it now saves processing a batch in vain, and a store that seems to be ahead of its
        changelog.
        """
        start = Committed(0, "")
        return any(
            at.offset > self.committed.get(place, start).offset
            for place, at in known.items()
            if place.partition == partition
        )


_held: dict[Cached, _HeldWriter] = {}
_keeper = StoreKeeper()
_groups: dict[Cached, Groups] = {}
"""Open connections: connecting takes longer than a request."""


def writer_key(plan: TaskPlan, partition: int) -> Cached:
    """The cache key of this worker's writer for a partition."""
    return plan.connection.bootstrap_servers, plan.transactional_id(partition)


def run_ordered_task(batches: Iterator[pa.RecordBatch], plan: TaskPlan) -> Iterator[pa.RecordBatch]:
    """Process one partition; the properties of the Spark job have the driver's order."""
    from pyspark import TaskContext  # noqa: PLC0415 - in a worker of Spark only

    context = TaskContext.get()
    order = None if context is None else context.getLocalProperty(ORDER_PROPERTY)
    if order is None:
        raise RuntimeError(f"this Spark job has no property {ORDER_PROPERTY}")
    return run_task(batches, plan, BatchOrder.from_text(order))


def run_task(
    batches: Iterator[pa.RecordBatch], plan: TaskPlan, order: BatchOrder
) -> Iterator[pa.RecordBatch]:
    """Process one partition; yields a report for each transaction."""
    # Logging is not set up here. librdkafka logs fencing as fatal, although it is normal for a
    # task; what matters is raised as an error.
    logging.getLogger("lastword.kafka.librdkafka").setLevel(logging.CRITICAL + 1)
    # A task creates many objects without cycles: reference counting alone frees them.
    with COLLECTOR_PAUSED:
        for given in read_inputs(batches, plan.only_source):
            yield to_arrow(_run(plan, given, order))


def _run(plan: TaskPlan, given: TaskInput, order: BatchOrder) -> TaskReport:
    """Commit with this worker's writer; if it was fenced, take over and try again.

    Another attempt of this task may run elsewhere. Only the process that took over the id last
    can commit. It read the committed positions after the take-over: they cannot move any more, and
    it skips what they cover. Before taking the id back, this attempt waits as long as it worked,
    and longer each time: two attempts of equal speed would take the id from each other for ever.
    """
    if given.partition >= plan.partitions:
        raise partitions_added(plan)
    name, key = plan.transactional_id(given.partition), writer_key(plan, given.partition)
    runs: list[PartitionRun] = []
    patience_s = 0.0
    for _ in range(TAKE_OVERS_MAX):
        SYSTEM_CLOCK.sleep(patience_s)
        began = SYSTEM_CLOCK.monotonic()
        held = _hold(plan, given.partition, order)
        # After an error the outcome of the transaction is unknown until the id is taken over.
        del _held[key]
        try:
            with _stores(plan, given.partition, order, held) as stores:
                runs.append(PartitionRun(plan, given, held.committed, order, stores))
                held.committed = runs[-1].commit(held.writer, order.group_metadata)
                held.batches += 1
        except TakenOverError as error:
            log.info("taking %s back: %s", name, error)
            patience_s = 2 * patience_s + SYSTEM_CLOCK.monotonic() - began
        else:
            _held[key] = held
            run = runs[-1]
            run.tally.restored = sum(each.tally.restored for each in runs)
            return TaskReport(given.partition, run.tally, run.stores, run.by_store)
    raise TakenOverError(
        f"{name!r} was taken over {TAKE_OVERS_MAX} times in one task",
        hint="check whether another driver runs this application outside its consumer group",
    )


def partitions_added(plan: TaskPlan) -> PartitionCountError:
    """The error for sources that have more partitions than at the start."""
    return PartitionCountError(
        f"{plan.name} had {plan.partitions} partitions and now has more, so keys have moved",
        hint="copy it to a topic with the new number of partitions, and read that one",
    )


@contextmanager
def _stores(
    plan: TaskPlan, partition: int, order: BatchOrder, held: _HeldWriter
) -> Iterator[TaskStores]:
    """The stores of a partition: open from the last batch, and kept open for the next one.

    After an error they are closed.
    """
    key = writer_key(plan, partition)
    stores = _keeper.take(key, order.group_metadata)
    if stores is None:
        stores = TaskStores(plan, partition, KafkaLog(plan.connection))
    try:
        yield stores
    except BaseException:
        stores.close()
        raise
    if held.is_steady(order) and stores.directories:
        _keeper.keep(key, order.group_metadata, stores)
    else:
        stores.close()


def _hold(plan: TaskPlan, partition: int, order: BatchOrder) -> _HeldWriter:
    key = writer_key(plan, partition)
    held = _held.get(key)
    if held is None or held.is_fenced(order.committed, partition):
        _keeper.drop(key)
        writer = TransactionWriter(plan.connection, plan.transactional_id(partition))
        writer.take_over()
    elif held.group_metadata != order.group_metadata:
        writer = held.writer
    else:
        return held
    held = _held[key] = _HeldWriter(writer, order.group_metadata, _positions(plan, partition))
    return held


def _positions(plan: TaskPlan, partition: int) -> dict[TopicPartition, Committed]:
    key = plan.connection.bootstrap_servers, plan.application_id
    groups = _groups.get(key)
    if groups is None:
        groups = _groups[key] = Groups(plan.connection)
    places = [TopicPartition(topic, partition) for topic in plan.sources]
    return groups.committed(plan.group, places)
