"""The order in which the records of several sources are processed, and how far it is known.

It is Kafka Streams' order: of the heads of all sources, the one with the smallest timestamp is
next, and each source stays in log order. So a record is processed at the largest timestamp that its
source has reached with it; among equal ones, sources are sorted by name. The rule needs no memory:
the records after any prefix of the order have the same order, so batch boundaries change nothing.

If a batch holds only a part of a source (its log continues), the source's next record may have any
timestamp from the last one on. Up to there the order is known; later records wait for the next
batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lastword.pipelines.operators.events import Events
from lastword.pipelines.run.spans import Span

Numbers = np.ndarray[Any, np.dtype[np.int64]]

NO_TIME = -1
"""The timestamp of a record without one: it directly follows its predecessor."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """The records of one source in a batch: their offsets, and when each is due."""

    offsets: Numbers
    due: Numbers

    @classmethod
    def of(cls, offsets: Sequence[int], times: Sequence[int]) -> Timeline:
        """A timeline in which no record is due before its predecessors."""
        due = np.maximum.accumulate(np.array(times, np.int64)) if times else _numbers(())
        return cls(_numbers(offsets), due)

    def due_at(self, offsets: Numbers) -> Numbers:
        """When the records at ``offsets`` are due."""
        at = np.searchsorted(self.offsets, offsets)
        found: Numbers = self.due[np.minimum(at, len(self.due) - 1)]
        return found


class TimeOrder:
    """What can be processed of a batch, and in which order.

    ``spans`` is what was read of each source. ``source_of`` names the source from which the events
    of a topic are derived, usually the topic itself. Every batch makes progress: the source that
    limits the others is processed completely; without one, all sources are.
    """

    def __init__(
        self,
        timelines: Mapping[str, Timeline],
        spans: Mapping[str, Span],
        source_of: Callable[[str], str],
    ) -> None:
        self._timelines = timelines
        self._spans = spans
        self._source_of = source_of
        self._ranks = {source: rank for rank, source in enumerate(sorted(timelines))}
        last = {name: int(line.due[-1]) for name, line in timelines.items() if len(line.due)}
        # The last (time, source) that certainly comes before all unread records.
        self._limit = min(
            ((last.get(name, NO_TIME), name) for name, span in spans.items() if span.more),
            default=None,
        )

    def upto(self, source: str) -> int:
        """The offset of the first record of a source that has to wait, else the end of its span."""
        span, line = self._spans[source], self._timelines[source]
        if self._limit is None:
            return span.end
        due, limiting = self._limit
        side = "right" if source <= limiting else "left"
        known = int(np.searchsorted(line.due, due, side))  # type: ignore[call-overload]
        return span.end if known == len(line.due) else int(line.offsets[known])

    def merged(self, parts: Sequence[Events]) -> Events:
        """The events of all parts as one stream, in processing order.

        If several parts have events of one record, they are in the order of the parts.
        """
        columns = [self._sort_columns(part) for part in parts]
        # By the last column first; equal rows stay in the order of the parts.
        order = np.lexsort([np.concatenate(each) for each in zip(*columns, strict=True)])
        return Events.joined(parts).take(order.tolist())

    def _sort_columns(self, events: Events) -> tuple[Numbers, Numbers, Numbers]:
        """Offset, rank of the source, and due time of each event."""
        offsets, topics = _numbers(events.offsets), set(events.topics)
        if len(topics) == 1:
            (source,) = map(self._source_of, topics)
            due = self._timelines[source].due_at(offsets)
            return offsets, np.full(len(events), self._ranks[source]), due
        ranks, due = np.zeros(len(events), np.int64), np.zeros(len(events), np.int64)
        named = np.array(events.topics, object)
        for topic in topics:
            source, chosen = self._source_of(topic), named == topic
            ranks[chosen] = self._ranks[source]
            due[chosen] = self._timelines[source].due_at(offsets[chosen])
        return offsets, ranks, due


def _numbers(numbers: Sequence[int]) -> Numbers:
    return np.array(numbers, np.int64)
