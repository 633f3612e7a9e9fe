"""The protocol between a partition's owner and the implementations of fenced appends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from lastword.kafka.write.fenced.fence import Fence, FenceNote
from lastword.records import Write


@runtime_checkable
class FencedLog(Protocol):
    """Appends to one partition until another process takes it over.

    Used by one thread. Every call ends within the time limit that the log was opened with.
    ``lastword.testing.fenced.fenced_log_contract`` is its contract.
    """

    @property
    def fence(self) -> Fence | None:
        """The fence of the last take-over; None if the next step must be a take-over.

        It is None before the first take-over, after ``release``, and after most append errors.
        """

    @property
    def proven_at(self) -> float:
        """When the last acknowledged append was *started*, on the clock's monotonic time.

        At that time no successor had a fence record in the log. Minus infinity before the first.
        """

    def take_over(self, note: FenceNote) -> Fence:
        """Fence every earlier holder, and append a fence record.

        An open transaction of an earlier holder is aborted. Raises ConnectionFailedError if the
        cluster does not answer in time, TopicNotFoundError, ConfigError if the cluster forbids it,
        and FencedError if another process took over meanwhile.
        """

    def append(self, records: Sequence[Write]) -> list[int]:
        """Append all of ``records`` or none; returns their offsets once they are acknowledged.

        InvalidRecordError     a record is invalid, or the batch too large; nothing was written,
                               and the fence still holds
        FencedError            another process took over; nothing was written
        WriteFailedError       nothing was written; try again, or take over if ``fence`` is None
        IndeterminateError     the outcome is unknown until the log has been read up to the next
                               fence record; ``fence`` is None
        """

    def renew(self) -> None:
        """Keep the cluster from forgetting the fence; call it about every minute.

        It rarely has anything to do. Raises what ``append`` raises.
        """

    def prove(self) -> None:
        """Prove by an append that no other process has taken over; updates ``proven_at``.

        It appends the fence record once more, which tables do not see. Raises what ``append``
        raises.
        """

    def release(self) -> None:
        """Release the partition, with a record in the log. Does nothing without a fence.

        Raises what ``append`` raises; the fence is dropped in any case.
        """

    def close(self) -> None:
        """Free all resources without writing to the log; idempotent."""
