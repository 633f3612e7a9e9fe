"""Which offsets a batch of several sources reads: from their positions on, a share of each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from lastword.kafka.groups import Committed
from lastword.records import TopicPartition


class Span(NamedTuple):
    """The offsets from ``start`` to just before ``end``; ``more`` says that the log goes on."""

    start: int
    end: int
    more: bool


NO_SPANS: Mapping[TopicPartition, Span] = {}


class Spans:
    """Goes through several sources from ``starts`` on, ``max_records`` offsets at a time.

    What a task leaves over, because a slower source may still have something earlier, is part of
    the next spans: these begin at the committed positions. So a batch never holds more than
    ``max_records`` (or one of each place), however far one source is ahead of another.
    """

    def __init__(self, starts: Mapping[TopicPartition, int], max_records: int) -> None:
        self._positions = dict(starts)
        self._max_records = max_records

    def next(
        self, committed: Mapping[TopicPartition, Committed], ends: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, Span]:
        """What to read next, spread evenly over the places that are not at their end.

        Evenly, because a large share of a source that is ahead would only be left over.
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
        """Go on behind the spans of partitions that had no record: no task commits for them.

        Offsets without records are those of transaction markers, aborted transactions and what
        compaction removed.
        """
        for place, span in spans.items():
            if place.partition in partitions:
                self._positions[place] = span.end
