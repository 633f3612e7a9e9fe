"""Waits until a table has applied what was written, so that a read after a write sees it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from lastword.errors import NotUpToPositionError, PartitionNotHereError
from lastword.records import Position, Version, Write
from lastword.writer.outcome import Outcome, Unread
from lastword.writer.write_path import WritePath

WaitFor = Callable[[Position, float], None]
"""(position, seconds) -> when reads reflect it.

Raises NotUpToPositionError after that time, and PartitionNotHereError for a partition that the
table does not hold, or holds no longer.
"""

APPLY_TIMEOUT_S = 30.0


class ReadYourWrites:
    """A WritePath on top of another; acknowledged records are readable when ``write`` returns.

    It never touches a store: it gets a callable that waits for a position.
    """

    def __init__(
        self,
        path: WritePath,
        topic: str,
        wait_for: WaitFor,
        *,
        timeout_s: float,
    ) -> None:
        self._path = path
        self._topic = topic
        self._wait_for = wait_for
        self._timeout_s = timeout_s

    def write(self, records: Sequence[Write]) -> list[Outcome]:
        """Write, then wait for every partition that acknowledged a record."""
        outcomes = self._path.write(records)
        ends: dict[int, int] = {}
        for outcome in outcomes:
            if (version := outcome.version) is not None:
                partition, offset = version
                if ends.get(partition, 0) <= offset:
                    ends[partition] = offset + 1
        while ends:
            try:
                self._wait_for(Position(ends), self._timeout_s)
            except PartitionNotHereError as error:
                # It left after the record was sent: only those of the others can be read here.
                left = {error.partition} & ends.keys() or set(ends)
                outcomes = [self._as_left(outcome, left) for outcome in outcomes]
                ends = {p: offset for p, offset in ends.items() if p not in left}
                continue
            except NotUpToPositionError as error:
                reached = Position(error.reached)
                outcomes = [self._as_read(outcome, reached, ends) for outcome in outcomes]
            break
        return outcomes

    def close(self) -> None:
        """Close the path below; idempotent."""
        self._path.close()

    def _as_read(self, outcome: Outcome, reached: Position, ends: Collection[int]) -> Outcome:
        """The outcome of a record if the table has only reached ``reached``."""
        version = outcome.version
        if version is None or version.partition not in ends:
            return outcome
        if reached.at_least(Position.after(version)):
            return outcome
        return Unread(outcome.key, unread(self._topic, version, reached), version)

    def _as_left(self, outcome: Outcome, left: Collection[int | None]) -> Outcome:
        """The outcome of a record whose partition may be among those that left."""
        version = outcome.version
        if version is None or version.partition not in left:
            return outcome
        return Unread(outcome.key, unread_here(self._topic, version), version)


def unread_here(topic: str, version: Version) -> NotUpToPositionError:
    """The error of a record that is written, while its partition has left this process."""
    return NotUpToPositionError(
        f"{topic}: the record is written as {version}, but its partition is no longer held here",
        version=version,
        hint="do not write it again; read it where the partition is held",
    )


def unread(topic: str, version: Version, reached: Position) -> NotUpToPositionError:
    """The error of a record that is written, but not readable here in time."""
    return NotUpToPositionError(
        f"{topic}: the record is written as {version}, but the table is only at {reached}",
        reached=reached.offsets,
        version=version,
        hint=f"do not write it again; ask with at_least={Position.after(version)}",
    )
