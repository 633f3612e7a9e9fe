"""Ends the transactions that a killed worker left open, before it is started again."""

from __future__ import annotations

import logging

from lastword.connect_worker.worker_info import WorkerInfo
from lastword.errors import LastwordError
from lastword.kafka.admin.transactions import ongoing_transactions
from lastword.kafka.connection import Connection
from lastword.kafka.groups import Groups
from lastword.kafka.write.transaction_writer import TransactionWriter

log = logging.getLogger(__name__)


def abort_task_transactions(connection: Connection, info: WorkerInfo) -> None:
    """Abort the open transactions of the tasks that a past process of this worker ran.

    A worker reads its topics to the end before it starts a connector, and an open transaction holds
    that end back until it times out. While another worker is in the group, nothing is aborted: the
    transactions may be its own. Without an answer nothing is aborted either, and the worker waits.
    """
    try:
        left = {each for each in ongoing_transactions(connection) if _is_of(info.group, each)}
        if left and not _has_others(connection, info):
            for name in sorted(left):
                log.info("aborting the open transaction of a killed worker: %s", name)
                TransactionWriter(connection, name).take_over()
    except LastwordError as error:
        log.warning("the transactions of a killed worker were not looked for: %s", error)


def _is_of(group: str, name: str) -> bool:
    """Kafka Connect names the transactions of its tasks GROUP-CONNECTOR-TASK."""
    return name.startswith(f"{group}-")


def _has_others(connection: Connection, info: WorkerInfo) -> bool:
    """Whether another worker may be using such names; a killed one stays in the group for seconds.

    The names of a group whose own name begins with ``GROUP-`` look like those of GROUP.
    """
    groups = Groups(connection)
    try:
        alike = [info.group, *(each for each in groups.names() if _is_of(info.group, each))]
        found = [member for group in alike for member in groups.members(group)]
    finally:
        groups.close()
    return any(member.client_id != info.client_id for member in found)
