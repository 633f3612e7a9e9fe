"""Ends the transactions that a killed driver left open."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from lastword.kafka.admin.transactions import ongoing_transactions
from lastword.kafka.connection import Connection
from lastword.kafka.write.transaction_writer import TransactionWriter
from lastword.pipelines.graph.plan import TaskPlan

log = logging.getLogger(__name__)


def end_left_transactions(connection: Connection, plans: Iterable[TaskPlan]) -> None:
    """Abort what earlier tasks of these plans left open.

    Until a transaction with offsets in it ends, the broker does not say which positions are
    committed; left alone, that takes as long as its timeout. Call this only while holding the
    driver lock: whoever still writes under one of these ids is fenced.
    """
    ids = {plan.transactional_id(each) for plan in plans for each in range(plan.partitions)}
    for name in sorted(ids & ongoing_transactions(connection)):
        log.info("ending the transaction that an earlier task left open as %s", name)
        TransactionWriter(connection, name).take_over()
