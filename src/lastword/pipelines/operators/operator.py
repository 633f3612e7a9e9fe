"""What an operator with state is: events and stores in, updates of the stores and events out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from lastword.pipelines.operators.events import BadEvent, Events, Tally
from lastword.pipelines.operators.state_view import StateView


@dataclass(slots=True)
class BatchContext:
    """One batch of one partition: stream time so far, counts, and what could not be done.

    Stream time is the largest timestamp a stage has seen; -1 before its first record.
    """

    stream_time_ms: int = -1
    tally: Tally = field(default_factory=Tally)
    bad: list[BadEvent] = field(default_factory=list)

    def quarantine(self, events: Events, index: int, error: Exception) -> None:
        """Leave one record out, and keep why."""
        reason = f"{type(error).__name__}: {error}"
        topic, offset = events.topics[index], events.offsets[index]
        self.bad.append(BadEvent(topic, offset, events.keys[index], reason))
        self.tally.quarantined += 1


class Operator(ABC):
    """Processes batches in order; what it remembers between them is in its stores and the Turn."""

    @abstractmethod
    def process(self, events: Events, states: Sequence[StateView], context: BatchContext) -> Events:
        """Fold ``events`` into its stores, in the order they were planned; gives what goes on."""
