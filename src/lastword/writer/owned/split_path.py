"""Sends conditional writes to the owner, and plain ones directly to Kafka."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from lastword.records import Write
from lastword.writer.outcome import Outcome
from lastword.writer.write_path import WritePath


class SplitPath:
    """A WritePath that sends each record through one of two others, in order."""

    def __init__(self, plain: WritePath, conditional: WritePath) -> None:
        self._plain = plain
        self._conditional = conditional

    def write(self, records: Sequence[Write]) -> list[Outcome]:
        """Write consecutive records with and without a condition, run by run."""
        outcomes: list[Outcome] = []
        for is_plain, run in groupby(records, lambda record: record.expected is None):
            path = self._plain if is_plain else self._conditional
            outcomes += path.write(list(run))
        return outcomes

    def close(self) -> None:
        """Close both; idempotent."""
        self._conditional.close()
        self._plain.close()
