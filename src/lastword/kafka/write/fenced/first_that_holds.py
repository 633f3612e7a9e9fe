"""Chooses the implementation for fenced appends to a partition."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.kafka.connection import Connection
from lastword.kafka.write.fenced.append_errors import FenceNotKeptError
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
    """Create a log that holds no fence yet; does not connect.

    ``batch_bytes`` must not exceed the topic's ``max.message.bytes``. ``timeout_s`` limits each
    call.
    """
    # Imported only here: loading kafka-python takes a quarter of a second.
    from lastword.kafka.write.fenced.idempotent_log import IdempotentLog  # noqa: PLC0415

    place = connection, topic, partition, transactional_id

    def transactional() -> TransactionalLog:
        return TransactionalLog(*place, batch_bytes=batch_bytes, timeout_s=timeout_s, clock=clock)

    return FirstThatHolds(IdempotentLog(*place, timeout_s=timeout_s, clock=clock), transactional)


class FirstThatHolds:
    """The fast implementation if the leader keeps the fence, else the transactional one."""

    def __init__(self, fast: FencedLog, make_other: Callable[[], FencedLog]) -> None:
        self._log = fast
        self._make_other = make_other

    @property
    def fence(self) -> Fence | None:
        """The fence of the last take-over."""
        return self._log.fence

    @property
    def proven_at(self) -> float:
        """When the last acknowledged append was started."""
        return self._log.proven_at

    def take_over(self, note: FenceNote) -> Fence:
        """Fence every earlier holder; the first take-over chooses the implementation."""
        try:
            return self._log.take_over(note)
        except FenceNotKeptError as error:
            log.warning("falling back to transactions, which are slower: %s", error)
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
        """Prove by an append that no other process has taken over."""
        self._log.prove()

    def release(self) -> None:
        """Release the partition, with a record in the log."""
        self._log.release()

    def close(self) -> None:
        """Free everything."""
        self._log.close()
