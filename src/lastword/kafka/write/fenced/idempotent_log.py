"""Appends under a fence without transactions: one request per batch.

The transactional id serves only as a fence. Batches are those of an idempotent producer, with the
producer id and the epoch from the take-over. The leader of a partition rejects batches with an
older epoch than it has seen, and the fence record tells it the new epoch.

The broker does not guarantee this for ever: it forgets producer ids that write nothing. So the
fence is renewed every six hours, and not trusted after twelve.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from math import inf

import msgspec

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.errors import (
    ConnectionFailedError,
    FencedError,
    IndeterminateError,
    InvalidRecordError,
    WriteError,
)
from lastword.kafka.connection import Connection
from lastword.kafka.write.fenced.append_errors import (
    FenceNotKeptError,
    fenced,
    not_held,
    not_written,
    too_large,
    unknown,
)
from lastword.kafka.write.fenced.error_codes import Meaning
from lastword.kafka.write.fenced.fence import Fence, Holder, fence_write
from lastword.kafka.write.fenced.held_log import TIMEOUT_S, HeldLog, Taken
from lastword.kafka.write.fenced.partition_wire import NO_HOLDER, PartitionWire
from lastword.kafka.write.fenced.predecessor import TRUSTED_S
from lastword.kafka.write.fenced.record_batch import encode_batch
from lastword.kafka.write.fenced.sending import SendResult, send_until_settled
from lastword.records import Write

log = logging.getLogger(__name__)

RENEWED_S = 6 * 3600.0
"""The age at which a fence is renewed."""
_SEQUENCE_MASK = 0x7FFF_FFFF  # Kafka restarts at 0 after the largest int32

MakeWire = Callable[[Connection, str, int, str, Clock], PartitionWire]


class IdempotentLog(HeldLog):
    """A ``FencedLog`` of plain idempotent batches.

    The first take-over tests whether the leader keeps the fence: it must reject a batch of the
    previous epoch. Otherwise it raises FenceNotKeptError.
    """

    def __init__(
        self,
        connection: Connection,
        topic: str,
        partition: int,
        transactional_id: str,
        *,
        timeout_s: float = TIMEOUT_S,
        clock: Clock = SYSTEM_CLOCK,
        make_wire: MakeWire = PartitionWire,
    ) -> None:
        super().__init__(
            connection, topic, partition, transactional_id, timeout_s=timeout_s, clock=clock
        )
        self._make_wire = make_wire
        self._wire: PartitionWire | None = None
        self._holder = NO_HOLDER
        self._sequence = 0
        self._taken_at = -inf
        self._tested = False

    def renew(self) -> None:
        """Take the next epoch if the current one is six hours old.

        If the cluster does not answer, the fence stays as it is, and the next call tries again.
        """
        wire = self._wire
        if self._fence is None or wire is None or self._age() < RENEWED_S:
            return
        self._refuse_if_old()
        deadline = self._clock.monotonic() + self._timeout_s
        try:
            self._take_epoch(wire, deadline, self._holder)
        except ConnectionFailedError as error:
            log.warning("%s: could not renew the fence yet: %s", self._place, error)
            return
        except BaseException:
            self._drop()
            raise
        holder = self._holder
        self._held = msgspec.structs.replace(
            self._held, producer_id=holder.producer_id, epoch=holder.epoch
        )
        try:
            (offset,) = self._send_proving([fence_write(self._held)], deadline)
        except (IndeterminateError, InvalidRecordError) as error:
            self._drop()
            raise not_written(self._place, f"could not renew the fence: {error}") from error
        self._fence = Fence(offset, *holder)

    # -- taking over -------------------------------------------------------------------------

    def _init(self, deadline: float) -> Taken:
        self._wire = wire = self._make_wire(
            self._connection, self._topic, self._partition, self._transactional_id, self._clock
        )
        wire.connect(deadline)
        self._take_epoch(wire, deadline, NO_HOLDER)
        if self._holder.epoch == 0 and not self._tested:
            self._take_epoch(wire, deadline, NO_HOLDER)  # so that there is an older epoch to test
        return Taken(self._holder, wire.knows(self._holder.producer_id, deadline))

    def _take_epoch(self, wire: PartitionWire, deadline: float, current: Holder) -> None:
        started = self._clock.monotonic()
        try:
            taken = wire.init(deadline, current)
        except FencedError as error:
            raise fenced(self._place, str(error)) from error
        if current is not NO_HOLDER and taken.producer_id != current.producer_id:
            raise fenced(self._place, "the cluster has forgotten its transactional id")
        self._holder, self._sequence, self._taken_at = taken, 0, started

    def _check_fence(self, deadline: float) -> None:
        """Send a batch of the previous epoch; if it were accepted, it would change nothing."""
        if self._tested or self._wire is None:
            return
        if self._holder.epoch == 0:
            raise FenceNotKeptError(f"{self._place}: two take-overs have the same epoch")
        older = Holder(self._holder.producer_id, self._holder.epoch - 1)
        batch = encode_batch([fence_write(self._held)], older, 0, self._clock.now_ms())
        verdict = send_until_settled(self._wire, batch, deadline, self._clock)
        if verdict.meaning in (Meaning.NOT_YET, Meaning.UNSURE):
            raise not_written(self._place, verdict.reason)
        if verdict.meaning is not Meaning.FENCED:
            raise FenceNotKeptError(f"{self._place}: a batch of an older epoch: {verdict.reason}")
        self._tested = True

    # -- appending ---------------------------------------------------------------------------

    def _send(self, records: Sequence[Write], deadline: float) -> list[int]:
        wire = self._wire
        if wire is None:
            raise not_held(self._place)
        self._refuse_if_old()
        batch = encode_batch(records, self._holder, self._sequence, self._clock.now_ms())
        try:
            verdict = send_until_settled(wire, batch, deadline, self._clock)
        except BaseException:
            # The leader could mistake another batch with this sequence number for this one.
            self._drop()
            raise
        if verdict.meaning is not Meaning.WRITTEN:
            raise self._failure(verdict)
        self._sequence = (self._sequence + len(records)) & _SEQUENCE_MASK
        return list(range(verdict.offset, verdict.offset + len(records)))

    def _failure(self, verdict: SendResult) -> WriteError:
        """The error to raise; one that leaves the sequence number unknown drops the fence."""
        meaning, reason = verdict.meaning, verdict.reason
        if verdict.may_be_written:
            self._drop()
            return unknown(self._place, reason)
        if meaning is Meaning.FENCED:
            self._drop()
            return fenced(self._place, reason)
        if meaning is Meaning.OUT_OF_SEQUENCE:
            self._drop()
        if meaning is Meaning.TOO_LARGE:
            return too_large(self._place, self._topic, reason)
        if meaning is Meaning.INVALID:
            return InvalidRecordError(
                f"{self._place} rejects the records: {reason}",
                hint="make them fit the settings of the topic",
            )
        return not_written(self._place, reason)

    def _refuse_if_old(self) -> None:
        if self._age() < TRUSTED_S:
            return
        self._drop()
        raise fenced(self._place, f"its fence was not renewed for {TRUSTED_S / 3600:.0f} hours")

    def _age(self) -> float:
        return self._clock.monotonic() - self._taken_at

    def _free(self) -> None:
        if self._wire is not None:
            self._wire.close()
        self._wire = None

    def _abandon(self) -> None:
        self._wire = None
