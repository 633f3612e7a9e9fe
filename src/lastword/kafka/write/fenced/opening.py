"""Chooses the way in which a partition is appended to under its fence."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.kafka.connection import Connection
from lastword.kafka.write.fenced.failures import FenceNotKeptError
from lastword.kafka.write.fenced.fence import Fence, FenceNote
from lastword.kafka.write.fenced.fenced_log import FencedLog
from lastword.kafka.write.fenced.held_log import TIMEOUT_S
from lastword.kafka.write.fenced.transactional_log import TransactionalLog
from lastword.records import Write

log = logging.getLogger(__name__)


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
    # Loaded only here: kafka-python takes a quarter of a second.
    from lastword.kafka.write.fenced.idempotent_log import IdempotentLog  # noqa: PLC0415

    place = connection, topic, partition, transactional_id

    def transactional() -> TransactionalLog:
        return TransactionalLog(*place, batch_bytes=batch_bytes, timeout_s=timeout_s, clock=clock)

    return FirstThatHolds(IdempotentLog(*place, timeout_s=timeout_s, clock=clock), transactional)


class FirstThatHolds:
    """The fast way where the leader keeps the fence, else the one that needs nothing of it."""

    def __init__(self, fast: FencedLog, make_other: Callable[[], FencedLog]) -> None:
        self._log = fast
        self._make_other = make_other

    @property
    def fence(self) -> Fence | None:
        """What the last take-over established."""
        return self._log.fence

    @property
    def proven_at(self) -> float:
        """When the last acknowledged append was started."""
        return self._log.proven_at

    def take_over(self, note: FenceNote) -> Fence:
        """Fence every earlier holder; choose the way at the first one."""
        try:
            return self._log.take_over(note)
        except FenceNotKeptError as error:
            log.warning("batches are appended in transactions, which is slower: %s", error)
            self._log.close()
            self._log = self._make_other()
        return self._log.take_over(note)

    def append(self, records: Sequence[Write]) -> list[int]:
        """Append all of ``records`` or none."""
        return self._log.append(records)

    def renew(self) -> None:
        """Keep the cluster from forgetting the fence."""
        self._log.renew()

    def prove(self) -> None:
        """Prove by an append that nobody else has taken over."""
        self._log.prove()

    def release(self) -> None:
        """Give the partition up and say so in the log."""
        self._log.release()

    def close(self) -> None:
        """Free everything."""
        self._log.close()
