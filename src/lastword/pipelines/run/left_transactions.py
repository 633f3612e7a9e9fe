"""Ends the transactions that a killed driver left open."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from lastword.kafka.admin.transactions import ongoing_transactions
from lastword.kafka.connection import Connection
from lastword.kafka.write.transaction_writer import TransactionWriter
from lastword.pipelines.graph.task_plan import TaskPlan

log = logging.getLogger(__name__)


def end_left_transactions(connection: Connection, plans: Iterable[TaskPlan]) -> None:
    """Abort the open transactions of earlier tasks of these plans.

    While a transaction with offsets is open, the broker does not return the committed positions;
    otherwise that takes until its timeout. Call this only while holding the driver lock: it fences
    any process that still writes with one of these ids.
    """
    ids = {plan.transactional_id(each) for plan in plans for each in range(plan.partitions)}
    for name in sorted(ids & ongoing_transactions(connection)):
        log.info("aborting the open transaction of an earlier task: %s", name)
        TransactionWriter(connection, name).take_over()
