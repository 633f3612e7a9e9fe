"""The seam between whoever owns a partition and the ways to append under a fence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from lastword.kafka.write.fenced.fence import Fence, FenceNote
from lastword.records import Write


@runtime_checkable
class FencedLog(Protocol):
    """Appends to one partition, for as long as nobody else has taken it over.

    One thread uses it. Every call ends within the time limit that the log was opened with.
    ``lastword.testing.fenced.fenced_log_contract`` is its contract.
    """

    @property
    def fence(self) -> Fence | None:
        """What the last take-over established; None if only another take-over can go on from here.

        That is so before the first one, after ``release``, and after most errors of an append.
        """

    @property
    def proven_at(self) -> float:
        """When the last acknowledged append was *started*, on the clock's monotonic time.

        No successor had a fence record in the log at that time. Minus infinity before the first.
        """

    def take_over(self, note: FenceNote) -> Fence:
        """Fence every earlier holder, and append a fence record.

        An open transaction of an earlier holder is aborted. Raises ConnectionFailedError when
        the cluster does not answer in time, TopicNotFoundError, ConfigError when the cluster
        forbids it, and FencedError when somebody else took over meanwhile.
        """

    def append(self, records: Sequence[Write]) -> list[int]:
        """Append all of ``records`` or none; their offsets, once they are acknowledged.

        InvalidRecordError     a record cannot be written, or the topic does not take as much at
                               once; nothing was written, and the fence still stands
        FencedError            somebody else took over; nothing was written
        WriteFailedError       nothing was written; try again, or take over if ``fence`` is None
        IndeterminateError     nobody knows whether it was written until the log has been read up
                               to the next fence record; ``fence`` is None
        """

    def renew(self) -> None:
        """Keep the cluster from forgetting the fence; to be called every minute or so.

        Mostly it does nothing. Raises what ``append`` raises.
        """

    def prove(self) -> None:
        """Prove by an append that nobody else has taken over; ``proven_at`` says since when.

        The fence record is appended once more, so tables do not see it. Raises what ``append``
        raises.
        """

    def release(self) -> None:
        """Give the partition up and say so in the log. Does nothing without a fence.

        Raises what ``append`` raises; the fence is gone in any case.
        """

    def close(self) -> None:
        """Free everything; nothing is said in the log. Idempotent."""
