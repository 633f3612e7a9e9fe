"""The base class of operators with stores: events in, updates of the stores and events out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from lastword.errors import RegistryError
from lastword.pipelines.operators.events import BadEvent, Events, Tally
from lastword.pipelines.operators.state_view import StateView


@dataclass(slots=True)
class BatchContext:
    """One batch of one partition: stream time so far, counts, and quarantined records.

    Stream time is the largest timestamp a node has seen; -1 before its first record.
    """

    stream_time_ms: int = -1
    tally: Tally = field(default_factory=Tally)
    bad: list[BadEvent] = field(default_factory=list)

    def quarantine(self, events: Events, index: int, error: Exception) -> None:
        """Drop one record, and keep the reason.

        Raises a RegistryError instead: the record may be good, and the task is tried again.
        """
        if isinstance(error, RegistryError):
            raise error
        reason = f"{type(error).__name__}: {error}"
        topic, offset = events.topics[index], events.offsets[index]
        self.bad.append(BadEvent(topic, offset, events.keys[index], reason))
        self.tally.quarantined += 1


class Operator(ABC):
    """Processes batches in order; between them it keeps its state in its stores and its context.

    An operator with several inputs receives their events as one stream, in processing order;
    ``events.inputs`` has the input of each one. A store's view shows the values before the batch,
    overlaid with those put since.
    """

    @abstractmethod
    def process(self, events: Events, states: Sequence[StateView], context: BatchContext) -> Events:
        """Fold ``events`` into the stores, given in the node's order; returns new events."""
