"""Decides the writes of one partition while the plan names this process as its owner.

One thread, one batch in flight. To take over, it fences earlier owners, reads the log up to its
fence record, and waits until no earlier owner can answer a read. Then it decides one batch after
another. It answers only after an acknowledgement that no earlier owner could have received.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from contextlib import suppress

from lastword.errors import (
    FencedError,
    IndeterminateError,
    InvalidRecordError,
    LastwordError,
    NotOwnerError,
    NotReadyError,
    NotUpToPositionError,
)
from lastword.kafka.write.fenced import Fence, FencedLog, FenceNote
from lastword.records import Write
from lastword.rows import is_due
from lastword.writer.owned.decide import Decided, decide
from lastword.writer.owned.draft import Draft
from lastword.writer.owned.expiring import ExpiringKeys
from lastword.writer.owned.owned_partition import OwnedPartition
from lastword.writer.owned.owned_rows import OwnedRows
from lastword.writer.owned.request_queue import RequestQueue
from lastword.writer.owned.tickets import (
    Ticket,
    claimed,
    deliver,
    deliver_error,
    in_time,
    refuse_unread,
)
from lastword.writer.owned.verdict import Doubt

log = logging.getLogger(__name__)

READ_LEASE_S = 0.45
"""How long after the start of an acknowledged append an owner may answer reads from memory.

Shorter means a faster fail-over, and one append more often while a partition is only read."""
TAKE_OVER_WAIT_S = 0.5
"""How long a successor waits: longer than the lease, because clocks run at different rates.

All instances must agree on both figures: a successor waits out the lease of an earlier version."""
RENEW_EVERY_S = 60.0
RESOLVE_S = 30.0
STOP_S = 30.0
_IDLE_S = 0.5
_BACK_OFF_S = (0.1, 5.0)


class PartitionOwner:
    """The thread that owns a partition. Safe to use from any thread.

    Requests that arrive during the take-over wait for it.
    """

    def __init__(self, owned: OwnedPartition) -> None:
        self._owned = owned
        self._clock = owned.clock
        self._queue = RequestQueue(owned.clock, batch_bytes=owned.batch_bytes)
        self._rows = OwnedRows(owned.local)
        self._log: FencedLog | None = None
        self._fence: Fence | None = None
        self._next_offset = 0
        self._doubt: Doubt | None = None
        self._serving = False
        self._stopping = threading.Event()
        name = f"lastword-owner-{owned.topic}-{owned.partition}"
        self._expiring = ExpiringKeys(name, owned.batch_bytes)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    # -- for other threads -----------------------------------------------------------------

    def start(self) -> None:
        """Take over in the background; returns at once."""
        self._thread.start()

    def submit(self, ticket: Ticket) -> None:
        """Queue a request; raises OverloadedError and NotOwnerError."""
        if not self._queue.put(ticket):
            raise self._moved()

    def row_now(self, key: bytes) -> tuple[bytes | None] | None:
        """The key's row, in a 1-tuple, if it is known without asking the log; else None.

        The lease is checked *after* the row is read. A deposed owner's lease ends before its
        successor answers the first request.
        """
        if not self._serving:
            return None
        row = self._rows.row(key)
        if row is not None and is_due(row, self._clock.now_ms()):
            return None  # its tombstone comes first
        return (row,) if self._serving and self._is_proven() else None

    @property
    def serving(self) -> bool:
        """Whether the take-over is complete and, as far as known, the partition still owned."""
        return self._serving

    @property
    def waiting(self) -> int:
        """The number of queued requests."""
        return len(self._queue)

    def stop(self, timeout_s: float = STOP_S) -> None:
        """Complete the current batch, return the other requests, and release the partition."""
        self._serving = False
        self._stopping.set()
        deliver_error(self._queue.close(), self._moved())
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    # -- the thread ------------------------------------------------------------------------

    def _run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            try:
                self._own()
                failures = 0
            except FencedError as error:
                failures += 1
                log.info("%s: %s", self._owned, error)
                self._step_down()
            except LastwordError as error:
                failures += 1
                log.warning("%s cannot be written at the moment: %s", self._owned, error)
                if not error.retriable:
                    deliver_error(self._queue.drain(), error)
            except Exception:
                failures += 1
                log.exception("%s: the owner failed and restarts", self._owned)
            finally:
                self._serving = False
            self._give_up_doubts()
            first_s, longest_s = _BACK_OFF_S
            self._stopping.wait(min(longest_s, first_s * 2 ** min(failures, 10)))
        self._end()

    def _own(self) -> None:
        """Take over and serve, until the plan names another owner or an error occurs."""
        if self._owned.named() is None:
            self._step_down()
            return
        self._take_over()
        self._resolve_doubt()
        self._serving = not self._stopping.is_set()
        renewed_at = self._clock.monotonic()
        while not self._stopping.is_set() and self._owned.named() is not None:
            tickets = self._queue.take(_IDLE_S)
            if self._clock.monotonic() - renewed_at >= RENEW_EVERY_S:
                self._renew()
                renewed_at = self._clock.monotonic()
            if tickets or self._leases_ended():
                self._commit(claimed(tickets, self._clock.monotonic()))
            self._delete_due()

    def _renew(self) -> None:
        self._holder.renew()
        fence = self._holder.fence
        if fence is not None and fence != self._fence:
            # This fence record is its own: it must not look like a successor's.
            self._fence, self._next_offset = fence, fence.offset + 1

    def _step_down(self) -> None:
        """Another process owns the partition: pass the requests on to it."""
        self._fence = None
        deliver_error(self._queue.drain(), self._moved())

    def _end(self) -> None:
        self._expiring.stop()
        if self._log is not None:
            with suppress(LastwordError):  # on failure, the successor waits out the read lease
                self._log.release()
            self._log.close()
        if self._doubt is not None:
            deliver_error(self._doubt.tickets, self._doubt.error)
        deliver_error(self._queue.close(), self._moved())

    # -- taking over -----------------------------------------------------------------------

    def _take_over(self) -> None:
        mine = self._fence
        plan = self._owned.named()
        if plan is None:
            raise self._moved()
        if self._log is None:
            self._log = self._owned.open_log()
        # No record that an earlier owner sent can follow the one that this appends.
        fence = self._log.take_over(FenceNote(self._owned.instance, plan))
        done_at = self._clock.monotonic()
        self._fence, self._next_offset = fence, fence.offset + 1
        while not self._stopping.is_set():
            try:
                self._owned.local.wait_for(fence.offset + 1, _IDLE_S)
                break
            except (NotUpToPositionError, NotReadyError):
                continue
        self._expiring.begin(self._owned.local.rows())
        if mine is None or (fence.producer_id, fence.epoch) != (mine.producer_id, mine.epoch + 1):
            self._wait_for_readers(fence, done_at)
            if self._owned.leases is not None:
                self._owned.leases.rearm(self._owned.local.rows())

    def _wait_for_readers(self, fence: Fence, done_at: float) -> None:
        """Wait until the previous owner can no longer answer reads."""
        with suppress(LastwordError):  # if it is unknown whether it released, wait
            if self._owned.witness.was_released(fence.offset, self._owned.log_start()):
                return
        self._stopping.wait(max(0.0, done_at + TAKE_OVER_WAIT_S - self._clock.monotonic()))

    # -- a batch ---------------------------------------------------------------------------

    def _commit(self, tickets: Sequence[Ticket]) -> None:
        accepted = tickets if self._fence is None else refuse_unread(tickets, self._fence.offset)
        if accepted or not tickets:
            self._decide(accepted)

    def _decide(self, tickets: Sequence[Ticket]) -> None:
        self._rows.prune()
        draft = Draft(self._owned.partition, self._rows.row, self._clock.now_ms())
        requests = [ticket.request for ticket in tickets]
        decided = decide(requests, draft, self._owned.operations, self._owned.leases)
        if self._owned.leases is not None:
            self._owned.leases.drop_ended(draft)
        self._write(tickets, decided)

    def _delete_due(self) -> None:
        """Write the tombstones of expired keys that no request has touched."""
        due = self._expiring.take(self._clock.now_ms())
        if not due:
            return
        draft = Draft(self._owned.partition, self._rows.row, self._clock.now_ms())
        for each in due:
            draft.cell(each.key)  # adds the tombstone, unless the key was written since
        if draft.records and not self._write((), Decided(draft, ())):
            self._expiring.give_back(due)

    def _write(self, tickets: Sequence[Ticket], decided: Decided) -> bool:
        """Append the decided records and answer; returns whether they were acknowledged."""
        try:
            offsets = self._append(decided.records)
        except InvalidRecordError as error:
            self._commit_apart(tickets, error)
        except IndeterminateError as error:
            self._serving = False
            self._doubt = Doubt(tickets, decided, self._next_offset, self._fence, error)
            raise
        except LastwordError as error:
            deliver_error(tickets, self._moved() if isinstance(error, FencedError) else error)
            if self._holder.fence is None:
                raise
        else:
            self._settle(tickets, decided, offsets)
            return True
        return False

    def _append(self, records: Sequence[Write]) -> list[int]:
        """Append, or with nothing to append prove that this process still owns the partition."""
        if records:
            offsets = self._holder.append(records)
            self._next_offset = offsets[-1] + 1
            return offsets
        if not self._is_proven():
            self._holder.prove()
        return []

    def _settle(self, tickets: Sequence[Ticket], decided: Decided, offsets: Sequence[int]) -> None:
        # Add the rows before any answer: whoever reads after the answer must see them.
        rows = decided.draft.rows(offsets)
        self._rows.add(rows)
        self._expiring.note(rows)
        deliver(tickets, decided.answers(offsets))

    def _commit_apart(self, tickets: Sequence[Ticket], error: InvalidRecordError) -> None:
        """Retry a refused batch request by request, to find the invalid one."""
        if len(tickets) <= 1:
            deliver_error(tickets, error)
            return
        middle = len(tickets) // 2
        self._commit(tickets[:middle])
        self._commit(tickets[middle:])

    # -- unknown outcomes ------------------------------------------------------------------

    def _resolve_doubt(self) -> None:
        """The new fence record is in the log: records sent before it are there now or never."""
        doubt, self._doubt = self._doubt, None
        if doubt is None:
            return
        verdict = doubt.verdict(self._owned.witness, self._clock.monotonic() + RESOLVE_S)
        if not verdict.final:
            deliver_error(doubt.tickets, doubt.error)
        elif verdict.offsets:
            self._settle(doubt.tickets, doubt.decided, verdict.offsets)
        else:
            self._commit(in_time(doubt.tickets, self._clock.monotonic()))

    def _give_up_doubts(self) -> None:
        """A successor's fence record decides; without one, the requests fail at their deadline."""
        doubt = self._doubt
        if doubt is None:
            return
        if self._owned.named() is None or self._fence is None:
            verdict = doubt.verdict(self._owned.witness, doubt.deadline)
            if verdict.final:
                answers = doubt.decided.answers(verdict.offsets) if verdict.offsets else None
                deliver(doubt.tickets, answers or [self._moved()] * len(doubt.tickets))
                self._doubt = None
                return
        if self._clock.monotonic() >= doubt.deadline:
            deliver_error(doubt.tickets, doubt.error)
            self._doubt = None

    # -- details ---------------------------------------------------------------------------

    @property
    def _holder(self) -> FencedLog:
        if self._log is None:
            raise RuntimeError("an owner appends only after it has taken over")
        return self._log

    def _is_proven(self) -> bool:
        """Whether a recent acknowledgement proves that no successor can be serving yet."""
        return self._clock.monotonic() - self._holder.proven_at < READ_LEASE_S

    def _leases_ended(self) -> bool:
        leases = self._owned.leases
        return leases is not None and leases.next_end <= self._clock.monotonic()

    def _moved(self) -> NotOwnerError:
        return NotOwnerError(
            f"{self._owned} is not owned by this process, or not taken over yet",
            hint="nothing was written; try again in a moment",
        )
