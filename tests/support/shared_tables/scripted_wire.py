"""A leader and a coordinator that answer as a test says, to batches as they are on the wire."""

from __future__ import annotations

from dataclasses import dataclass, field

from lastword.kafka.write.fenced.fence import Holder
from lastword.kafka.write.fenced.partition_wire import NO_HOLDER
from lastword.kafka.write.fenced.sending import LeaderAnswer


@dataclass
class ScriptedWire:
    """Takes every batch unless ``answers`` says otherwise: the next answer, or an error to raise.

    ``fences`` says whether batches of an older epoch than the newest are refused.
    """

    producer_id: int = 7
    epoch: int = -1
    fences: bool = True
    known: bool = True
    answers: list[LeaderAnswer | Exception] = field(default_factory=list)
    batches: list[bytes] = field(default_factory=list)
    inits: list[Holder] = field(default_factory=list)
    closed: int = 0

    def __call__(self, *_: object) -> ScriptedWire:
        return self

    def connect(self, deadline: float) -> None:
        pass

    def init(self, deadline: float, current: Holder = NO_HOLDER) -> Holder:
        self.inits.append(current)
        self.epoch += 1
        return Holder(self.producer_id, self.epoch)

    def knows(self, producer_id: int, deadline: float) -> bool:
        return self.known

    def produce(self, batch: bytes, deadline: float) -> LeaderAnswer:
        self.batches.append(batch)
        if self.answers:
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        if self.fences and epoch_of(batch) < self.epoch:
            return LeaderAnswer(47, -1)
        return LeaderAnswer(0, 100 * len(self.batches))

    def find_leader(self, deadline: float) -> None:
        pass

    def close(self) -> None:
        self.closed += 1


def epoch_of(batch: bytes) -> int:
    """The producer epoch in the header of a batch."""
    return int.from_bytes(batch[51:53], "big", signed=True)


def sequence_of(batch: bytes) -> int:
    """The sequence number of its first record."""
    return int.from_bytes(batch[53:57], "big", signed=True)
