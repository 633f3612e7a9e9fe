"""What an operator with state is: a batch of events and a store in, updates of the store out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from lastword.pipelines.events import BadEvent, Events, Tally
from lastword.pipelines.state_view import StateView


@dataclass(slots=True)
class Turn:
    """One batch of one partition: stream time so far, counts, and what could not be done.

    Stream time is the largest timestamp seen in the partition; -1 before the first record.
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
    """Processes batches in order; what it remembers between them is in its store and the Turn."""

    @abstractmethod
    def process(self, events: Events, state: StateView, turn: Turn) -> None:
        """Fold ``events`` into ``state``."""
