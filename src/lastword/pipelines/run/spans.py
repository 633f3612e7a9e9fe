"""Which offsets a batch of several sources reads: from their positions, a share of each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from lastword.kafka.groups import Committed
from lastword.records import TopicPartition


class Span(NamedTuple):
    """The offsets from ``start`` to just before ``end``; ``more``: the log continues."""

    start: int
    end: int
    more: bool


NO_SPANS: Mapping[TopicPartition, Span] = {}


class Spans:
    """Walks through several sources from ``starts``, ``max_records`` offsets at a time.

    A task leaves records over if a slower source may still have earlier ones. They are part of the
    next spans, which begin at the committed positions. So a batch never holds more than
    ``max_records`` (or one per partition), however far one source is ahead of another.
    """

    def __init__(self, starts: Mapping[TopicPartition, int], max_records: int) -> None:
        self._positions = dict(starts)
        self._max_records = max_records

    def next(
        self, committed: Mapping[TopicPartition, Committed], ends: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, Span]:
        """The next spans, spread evenly over the partitions that are not at their end.

        Evenly, because most of a large share of a source that is ahead would be left over.
        """
        for place, at in committed.items():
            self._positions[place] = max(self._positions[place], at.offset)
        behind = sorted(place for place, end in ends.items() if self._positions[place] < end)
        share = max(1, self._max_records // max(1, len(behind)))
        spans: dict[TopicPartition, Span] = {}
        for place in behind:
            start = self._positions[place]
            end = min(start + share, ends[place])
            spans[place] = Span(start, end, more=end < ends[place])
        return spans

    def pass_over(self, spans: Mapping[TopicPartition, Span], partitions: Collection[int]) -> None:
        """Skip the spans of partitions without records, for which no task commits.

        Offsets without records come from transaction markers, aborted transactions and compaction.
        """
        for place, span in spans.items():
            if place.partition in partitions:
                self._positions[place] = span.end
