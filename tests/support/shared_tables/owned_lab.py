"""Owners of one partition without Kafka: a log with fences, kept in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from math import inf
from typing import Any

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.codecs.structured import StructuredCodec
from lastword.errors import FencedError, IndeterminateError, NotUpToPositionError
from lastword.kafka.write.fenced import Fence, FenceNote, FenceRecord
from lastword.kafka.write.fenced.fence import fence_write
from lastword.records import FENCE_KEY, REQUEST_HEADER, Record, Write
from lastword.rows import encode_row
from lastword.testing.waiting import wait_until
from lastword.writer.owned.decide import Result
from lastword.writer.owned.leases import Leases
from lastword.writer.owned.owned_partition import OwnedPartition
from lastword.writer.owned.partition_owner import PartitionOwner
from lastword.writer.owned.requests import AnyRequest
from lastword.writer.owned.tickets import Waiting
from lastword.writer.owned.value_operations import ValueOperations
from lastword.writer.owned.verdict import Found, Verdict, request_id_of

PARTITION = 0
PATIENT_S = 60.0
OPERATIONS = ValueOperations(StructuredCodec("json"))


class PartitionLog:
    """What is in the log, and the epoch that may append to it; every holder shares it."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.epoch = -1
        self.lock = threading.RLock()

    def append(self, epoch: int, writes: Sequence[Write]) -> list[int]:
        with self.lock:
            if epoch != self.epoch:
                raise FencedError("a newer holder")
            start = len(self.records)
            for i, write in enumerate(writes):
                at_ms = write.timestamp_ms or 1
                self.records.append(
                    Record(PARTITION, start + i, at_ms, write.key, write.value, write.headers)
                )
            return list(range(start, len(self.records)))

    def values(self) -> list[bytes | None]:
        """What users wrote."""
        return [record.value for record in self.records if record.key != FENCE_KEY]

    def fences(self) -> int:
        return len(self.fence_offsets())

    def fence_offsets(self) -> list[int]:
        return [offset for offset, each in enumerate(self.records) if each.key == FENCE_KEY]


class MemoryFencedLog:
    """A FencedLog on a PartitionLog. ``on_append`` may fail an append, before or after it."""

    def __init__(self, log: PartitionLog, clock: Clock = SYSTEM_CLOCK) -> None:
        self._log = log
        self._clock = clock
        self._note: FenceRecord | None = None
        self.fence: Fence | None = None
        self.proven_at = -inf
        self.lose_answers = 0
        self.lose_batches = 0
        self.batches: list[int] = []
        self.gate = threading.Event()
        self.gate.set()

    def take_over(self, note: FenceNote) -> Fence:
        with self._log.lock:
            self._log.epoch += 1
            self._note = FenceRecord(note.instance, note.plan, 7, self._log.epoch)
        (offset,) = self._send([fence_write(self._note)])
        self.fence = Fence(offset, 7, self._note.epoch)
        return self.fence

    def append(self, records: Sequence[Write]) -> list[int]:
        self.gate.wait(PATIENT_S)
        self.batches.append(len(records))
        if self.lose_batches:
            self.lose_batches -= 1
            self.fence = None
            raise IndeterminateError("lost on the way")
        offsets = self._send(records)
        if self.lose_answers:
            self.lose_answers -= 1
            self.fence = None
            raise IndeterminateError("no answer")
        return offsets

    def prove(self) -> None:
        assert self._note is not None
        self._send([fence_write(self._note)])

    def renew(self) -> None:
        """Take the next epoch, as a fence that is hours old does."""
        assert self._note is not None
        self.take_over(FenceNote(self._note.instance, self._note.plan))

    def release(self) -> None:
        if self.fence is not None and self._note is not None:
            note = self._note
            released = FenceRecord(note.instance, note.plan, 7, note.epoch, released=True)
            self._send([fence_write(released)])
            self.fence = None

    def close(self) -> None:
        self.fence = None

    def _send(self, records: Sequence[Write]) -> list[int]:
        assert self._note is not None
        started = self._clock.monotonic()
        try:
            offsets = self._log.append(self._note.epoch, records)
        except FencedError:
            self.fence = None
            raise
        self.proven_at = started
        return offsets


class Followed:
    """Local rows that follow a PartitionLog at once, or up to ``held_at``."""

    def __init__(self, log: PartitionLog) -> None:
        self._log = log
        self.held_at: int | None = None

    def row(self, key: bytes) -> bytes | None:
        found = [r for r in self._log.records[: self.position()] if r.key == key]
        if not found or found[-1].value is None:
            return None
        headers = tuple(each for each in found[-1].headers if each[0] != REQUEST_HEADER)
        return encode_row(found[-1].offset, found[-1].timestamp_ms, headers, found[-1].value)

    def rows(self) -> Iterable[tuple[bytes, bytes]]:
        keys = {record.key for record in self._log.records if record.key not in (None, FENCE_KEY)}
        for key in keys:
            if key is not None and (row := self.row(key)) is not None:
                yield key, row

    def position(self) -> int:
        end = len(self._log.records)
        return end if self.held_at is None else min(end, self.held_at)

    def wait_for(self, offset: int, timeout_s: float) -> None:
        if self.position() < offset:
            raise NotUpToPositionError("behind", reached={PARTITION: self.position()})


class Witness:
    """Reads a PartitionLog as LogWitness reads Kafka's."""

    def __init__(self, log: PartitionLog) -> None:
        self._log = log

    def verdict(
        self,
        request_ids: Collection[bytes],
        start: int,
        is_successor: Callable[[FenceRecord], bool],
        deadline: float,
        enough: Callable[[Verdict], bool] = lambda _: False,
    ) -> Verdict:
        from lastword.kafka.write.fenced import decode_fence

        verdict = Verdict()
        for record in self._log.records[start:]:
            if record.key == FENCE_KEY:
                fence = decode_fence(record.value)
                if fence is not None and is_successor(fence):
                    verdict.final = True
                    break
            elif (request_id := request_id_of(record.headers)) in request_ids:
                verdict.records.append(Found(request_id, record))
        return verdict

    def was_released(self, fence_offset: int, log_start: int) -> bool:
        return True  # nobody waits in a unit test


class RenewingOwner(PartitionOwner):
    """An owner that renews its fence whenever a test says so, not every minute."""

    def renew_now(self) -> None:
        self._renew()


class OwnerLab:
    """Owners of one partition. ``own()`` makes the next one, which fences those before it."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self.clock = clock
        self.log = PartitionLog()
        self.logs: list[MemoryFencedLog] = []
        self.owners: list[PartitionOwner] = []
        self.local = Followed(self.log)
        self.named: dict[str, int | None] = {}

    def own(self, instance: str = "one", *, leases: bool = False) -> RenewingOwner:
        self.named[instance] = 1
        fenced = MemoryFencedLog(self.log, self.clock)
        self.logs.append(fenced)
        owned: Any = OwnedPartition(
            topic="t",
            partition=PARTITION,
            instance=instance,
            open_log=lambda: fenced,
            local=self.local,
            log_start=lambda: 0,
            witness=Witness(self.log),  # type: ignore[arg-type]
            operations=OPERATIONS,
            leases=Leases(self.clock) if leases else None,
            named=lambda: self.named[instance],
            batch_bytes=100_000,
            clock=self.clock,
        )
        owner = RenewingOwner(owned)
        self.owners.append(owner)
        owner.start()
        wait_until(lambda: owner.serving, f"{instance} owns the partition")
        return owner

    def close(self) -> None:
        for log in self.logs:
            log.gate.set()
        for owner in self.owners:
            owner.stop()


def ask(owner: PartitionOwner, *requests: AnyRequest) -> list[Result]:
    waiting = submit(owner, *requests)
    return waiting.wait(SYSTEM_CLOCK)


def submit(
    owner: PartitionOwner,
    *requests: AnyRequest,
    timeout_s: float = PATIENT_S,
    position: int | None = None,
) -> Waiting:
    waiting = Waiting(requests, SYSTEM_CLOCK.monotonic() + timeout_s, position)
    for ticket in waiting.tickets:
        owner.submit(ticket)
    return waiting
