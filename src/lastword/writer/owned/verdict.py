"""Reads the log to find out whether requests with an unknown outcome were applied."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lastword.clock import Clock
from lastword.errors import IndeterminateError
from lastword.kafka.log.source import LogSource, PositionLost
from lastword.kafka.write.fenced import Fence, FenceRecord, decode_fence
from lastword.records import FENCE_KEY, REQUEST_HEADER, Batch, Headers, Record
from lastword.writer.owned.decide import Decided
from lastword.writer.owned.tickets import Ticket

_POLL_S = 0.2
_LOOK_BACK = 64


class Found(NamedTuple):
    """A record that a request wrote."""

    request_id: bytes
    record: Record


@dataclass(slots=True)
class Verdict:
    """The records of some requests that the log holds.

    If ``final``, a later owner's fence record follows: no further record of them can appear.
    """

    records: list[Found] = field(default_factory=list)
    final: bool = False

    @property
    def offsets(self) -> list[int]:
        """The offsets of the records."""
        return [found.record.offset for found in self.records]


@dataclass(frozen=True, slots=True)
class Doubt:
    """A batch that may be in the log at ``start`` or later, appended under the fence ``held``."""

    tickets: Sequence[Ticket]
    decided: Decided
    start: int
    held: Fence | None
    error: IndeterminateError

    @property
    def deadline(self) -> float:
        """When the last caller gives up, in monotonic time."""
        return max((ticket.deadline for ticket in self.tickets), default=0.0)

    def verdict(self, witness: LogWitness, deadline: float) -> Verdict:
        """Read the log up to the next fence; a partial batch proves nothing."""
        ids = {request_id_of(record.headers) for record in self.decided.records}
        found = witness.verdict(ids, self.start, self._is_successor, deadline)
        if len(found.offsets) not in (0, len(self.decided.records)):
            found.final = False
        return found

    def _is_successor(self, fence: FenceRecord) -> bool:
        held = self.held
        return held is None or (fence.producer_id, fence.epoch) != (held.producer_id, held.epoch)


class LogWitness:
    """Reads one partition's log to find out which requests were applied."""

    def __init__(self, source: LogSource, topic: str, partition: int, clock: Clock) -> None:
        self._source = source
        self._topic = topic
        self._partition = partition
        self._clock = clock

    def verdict(
        self,
        request_ids: Collection[bytes],
        start: int,
        is_successor: Callable[[FenceRecord], bool],
        deadline: float,
        enough: Callable[[Verdict], bool] = lambda _: False,
    ) -> Verdict:
        """Follow the log from ``start`` to the first fence record of a successor.

        Gives up at ``deadline`` (monotonic) if there is none, and ends once there is ``enough``.
        """
        verdict = Verdict()
        reader = self._source.follow(self._topic)
        try:
            reader.assign(self._partition, start)
            while not (verdict.final or enough(verdict)) and self._clock.monotonic() < deadline:
                for news in reader.poll(_POLL_S):
                    if isinstance(news, PositionLost):
                        return verdict
                    if isinstance(news, Batch) and not verdict.final:
                        _judge(news, request_ids, is_successor, verdict)
        finally:
            reader.close()
        return verdict

    def was_released(self, fence_offset: int, log_start: int) -> bool:
        """Whether the owner before that fence released the partition itself."""
        start = max(log_start, fence_offset - _LOOK_BACK)
        released = False
        for batch in self._source.read(self._topic, {self._partition: (start, fence_offset)}):
            for record in batch.records_of(FENCE_KEY):
                fence = decode_fence(record.value)
                released = fence is not None and fence.released
        return released


def _judge(
    batch: Batch,
    request_ids: Collection[bytes],
    is_successor: Callable[[FenceRecord], bool],
    verdict: Verdict,
) -> None:
    for record in batch.records():
        if record.key == FENCE_KEY:
            fence = decode_fence(record.value)
            if fence is not None and is_successor(fence):
                verdict.final = True
                return
            continue
        request_id = request_id_of(record.headers)
        if request_id in request_ids:
            verdict.records.append(Found(request_id, record))


def without_request_id(headers: Headers) -> Headers:
    """The headers that the row of a record has."""
    return tuple(each for each in headers if each[0] != REQUEST_HEADER)


def request_id_of(headers: Headers) -> bytes:
    """The id of the request that wrote a record; empty if no owner wrote it."""
    return next((value or b"" for name, value in headers if name == REQUEST_HEADER), b"")
