"""What runs on an executor: one source partition's part of a batch, from Arrow to a transaction.

Keep worker-wide caches in this module only: Spark sends copies of what a nested function refers
to, but imports this one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from lastword.errors import TakenOverError
from lastword.kafka.groups import Committed, Groups, Place
from lastword.kafka.transaction_writer import TransactionWriter
from lastword.pipelines.partition_run import PartitionRun
from lastword.pipelines.plan import BatchOrder, TaskPlan
from lastword.pipelines.task_input import TaskInput, read_input

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

TAKE_OVERS_MAX = 3

_writers: dict[str, TransactionWriter] = {}


def run_task(
    batches: Iterator[pa.RecordBatch], plan: TaskPlan, order: BatchOrder
) -> Iterator[pa.RecordBatch]:
    """Process one partition and report what was done, one row per task."""
    given = read_input(batches)
    if given is not None:
        yield _run(plan, order, given).to_arrow()


def _run(plan: TaskPlan, order: BatchOrder, given: TaskInput) -> PartitionRun:
    """Commit with the writer this worker has; where it was taken over, take over and try again.

    Another attempt of this task may be at work elsewhere. Whoever took the id over last is the
    only one who can commit, and looks at the committed positions after that: they cannot move
    any more, and what they cover is skipped.
    """
    transactional_id = plan.transactional_id(given.partition)
    committed: Mapping[Place, Committed] = order.committed
    for _ in range(TAKE_OVERS_MAX):
        writer = _writers.get(transactional_id)
        if writer is None:
            writer = TransactionWriter(plan.connection, transactional_id)
            writer.take_over()
            _writers[transactional_id] = writer
            committed = _look_again(plan, given)
        run = PartitionRun(plan, given, committed)
        try:
            run.commit(writer, order.group_metadata)
        except TakenOverError:
            log.info("%s was taken over: taking it back", transactional_id)
            del _writers[transactional_id]
        else:
            return run
    raise TakenOverError(
        f"{transactional_id!r} was taken over {TAKE_OVERS_MAX} times in one task",
        hint="does another driver run this application without being a member of its group?",
    )


def _look_again(plan: TaskPlan, given: TaskInput) -> dict[Place, Committed]:
    groups = Groups(plan.connection)
    try:
        places = [Place(topic, given.partition) for topic in plan.sources]
        return groups.committed(plan.application_id, places)
    finally:
        groups.close()
