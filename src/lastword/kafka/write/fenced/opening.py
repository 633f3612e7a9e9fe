"""Chooses the way in which a partition is appended to under its fence."""

from __future__ import annotations

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.kafka.connection import Connection
from lastword.kafka.write.fenced.fenced_log import FencedLog
from lastword.kafka.write.fenced.held_log import TIMEOUT_S
from lastword.kafka.write.fenced.transactional_log import TransactionalLog


def open_fenced_log(
    connection: Connection,
    topic: str,
    partition: int,
    transactional_id: str,
    *,
    batch_bytes: int,
    timeout_s: float = TIMEOUT_S,
    clock: Clock = SYSTEM_CLOCK,
) -> FencedLog:
    """A log that holds nothing yet; connects to nothing.

    ``batch_bytes`` must not be more than the topic's ``max.message.bytes``. ``timeout_s`` limits
    each call.
    """
    return TransactionalLog(
        connection,
        topic,
        partition,
        transactional_id,
        batch_bytes=batch_bytes,
        timeout_s=timeout_s,
        clock=clock,
    )
