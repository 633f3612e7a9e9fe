"""What both implementations share: the holder, the fence, and the time of the last proof."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import msgspec

from lastword.clock import Clock
from lastword.errors import ConnectionFailedError, IndeterminateError, WriteFailedError
from lastword.kafka.connection import Connection
from lastword.kafka.forks import track
from lastword.kafka.write.fenced.append_errors import check_records, not_held
from lastword.kafka.write.fenced.fence import (
    Fence,
    FenceNote,
    FenceRecord,
    Holder,
    fence_write,
)
from lastword.kafka.write.fenced.predecessor import refuse_foreign_fence
from lastword.records import Write

TIMEOUT_S = 30.0


class Taken(NamedTuple):
    """A transactional id that was taken over.

    ``known_here`` says that the leader of the partition knows the producer id. Then this id was
    used to fence here before, and every earlier holder had it as well.
    """

    holder: Holder
    known_here: bool


class HeldLog(ABC):
    """A ``FencedLog`` on top of a way to send a batch.

    A subclass that cannot continue after an error calls ``_drop``, which drops the fence.
    """

    def __init__(
        self,
        connection: Connection,
        topic: str,
        partition: int,
        transactional_id: str,
        *,
        timeout_s: float,
        clock: Clock,
    ) -> None:
        self._connection = connection
        self._topic, self._partition = topic, partition
        self._place = f"{topic}, partition {partition}"
        self._transactional_id = transactional_id
        self._timeout_s, self._clock = timeout_s, clock
        self._fence: Fence | None = None
        self._held = FenceRecord("", -1, -1, -1)
        self._proven_at = -inf
        track(self)

    @property
    def fence(self) -> Fence | None:
        """The fence of the last take-over; None if the next step must be a take-over."""
        return self._fence

    @property
    def proven_at(self) -> float:
        """When the last acknowledged append was started."""
        return self._proven_at

    def take_over(self, note: FenceNote) -> Fence:
        """Fence every earlier holder, and append a fence record."""
        self._drop()
        deadline = self._clock.monotonic() + self._timeout_s
        try:
            holder, known = self._init(deadline)
            if not known:
                refuse_foreign_fence(
                    self._connection, self._topic, self._partition, holder, self._clock
                )
            self._held = FenceRecord(note.instance, note.plan, holder.producer_id, holder.epoch)
            (offset,) = self._send_proving([fence_write(self._held)], deadline)
            self._check_fence(deadline)
        except (IndeterminateError, WriteFailedError) as error:
            self._drop()
            raise ConnectionFailedError(
                f"could not take over {self._place}: {error}", hint="take it over again"
            ) from error
        except BaseException:
            self._drop()
            raise
        self._fence = Fence(offset, holder.producer_id, holder.epoch)
        return self._fence

    def append(self, records: Sequence[Write]) -> list[int]:
        """Append all of ``records`` or none."""
        check_records(records, self._partition)
        if self._fence is None:
            raise not_held(self._place)
        if not records:
            return []
        self.renew()
        return self._send_proving(records, self._clock.monotonic() + self._timeout_s)

    def prove(self) -> None:
        """Append the fence record once more: an acknowledgement proves that the fence holds."""
        if self._fence is None:
            raise not_held(self._place)
        self._send_proving([fence_write(self._held)], self._clock.monotonic() + self._timeout_s)

    def release(self) -> None:
        """Append a record that releases the partition, and drop the fence."""
        if self._fence is None:
            return
        last = fence_write(msgspec.structs.replace(self._held, released=True))
        try:
            self._send_proving([last], self._clock.monotonic() + self._timeout_s)
        finally:
            self._drop()

    def close(self) -> None:
        """Free everything."""
        self._drop()

    def after_fork(self) -> None:
        """Drop the fence in a forked child: it belongs to the parent."""
        self._abandon()
        self._fence = None

    def _send_proving(self, records: Sequence[Write], deadline: float) -> list[int]:
        started = self._clock.monotonic()
        offsets = self._send(records, deadline)
        self._proven_at = started
        return offsets

    def _left(self, deadline: float) -> float:
        return max(0.0, deadline - self._clock.monotonic())

    def _drop(self) -> None:
        """Drop the fence, and free the resources of the subclass."""
        self._fence = None
        self._free()

    @abstractmethod
    def _check_fence(self, deadline: float) -> None:
        """Check that the fence holds, now that its record is in the log."""

    @abstractmethod
    def renew(self) -> None:
        """Keep the cluster from forgetting the fence."""

    @abstractmethod
    def _init(self, deadline: float) -> Taken:
        """Take over the transactional id."""

    @abstractmethod
    def _send(self, records: Sequence[Write], deadline: float) -> list[int]:
        """Do what ``append`` promises, for records that were checked."""

    @abstractmethod
    def _free(self) -> None:
        """Free what ``_init`` created; idempotent."""

    @abstractmethod
    def _abandon(self) -> None:
        """Forget the resources in a forked child, where they cannot be freed."""
