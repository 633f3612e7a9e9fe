"""The protocol between callers that write and the paths into a topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from lastword.records import Version, Write
from lastword.writer.outcome import Outcome


@runtime_checkable
class WritePath(Protocol):
    """Writes the records of one topic. Safe to use from any thread.

    ``lastword.testing.write_path_contract`` has the tests that every path must pass.
    """

    def write(self, records: Sequence[Write]) -> list[Outcome]:
        """Write in order; one outcome per record, in the same order, with its raw key.

        A record that is refused fails alone. A record without an answer in time is indeterminate,
        never failed. A path that cannot check an ``expected`` version refuses the record.
        """
        ...

    def close(self) -> None:
        """Wait for writes in flight, within their timeout; later ones fail. Idempotent."""
        ...


def write_one(path: WritePath, record: Write) -> Version:
    """Write one record; raises its error."""
    (outcome,) = path.write([record])
    return outcome.raise_or_version()
