"""The batches that peers have sent here lately, so that a batch that is sent twice is decided once.

A peer whose connection broke cannot know whether its batch arrived. It sends the batch again, with
the same number. If the first one is here, both get its answer, whichever arrives first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from lastword.clock import Clock
from lastword.errors import IndeterminateError, LastwordError
from lastword.writer.owned.forward.peer_messages import ForwardedRequests, encode_reply
from lastword.writer.owned.tickets import Waiting

KEPT = 4
"""How many batches of one process and partition are remembered; it has one or two under way."""
REPLY_BYTES_MAX = 16 << 10
IDLE_S = 600.0
"""A process that has sent nothing for so long is forgotten: its requests have long timed out."""
_PROCESS_BYTES = 8


class ReceivedBatch:
    """Requests that came together; ``reply`` may be called by several threads.

    ``repeated`` batches were sent before and did not arrive, or an earlier process got them. So an
    error does not say what became of them. Any other answer does: an owner decides only requests
    that were sent under its own fence.
    """

    def __init__(self, waiting: Waiting, *, repeated: bool) -> None:
        self._waiting: Waiting | None = waiting
        self._repeated = repeated
        self._reply = b""

    def reply(self, clock: Clock) -> bytes:
        """Wait for the answers; raises IndeterminateError if they were too large to keep."""
        waiting = self._waiting
        if waiting is not None:
            results = waiting.wait(clock)
            if self._repeated:
                results = [_unknown() if isinstance(r, LastwordError) else r for r in results]
            reply = encode_reply(results)
            # The requests are dropped, and so is an answer that is too large to be kept.
            self._reply = reply if len(reply) <= REPLY_BYTES_MAX else b""
            self._waiting = None
            return reply
        if not self._reply:
            raise _unknown()
        return self._reply


class _Sender:
    """The batches of one process for one partition, by number."""

    def __init__(self) -> None:
        self.batches: OrderedDict[int, ReceivedBatch] = OrderedDict()
        self.forgotten = -1
        self.heard_at = 0.0


class ReplyCache:
    """The last batches of each process and partition. Safe to use from any thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._senders: OrderedDict[tuple[bytes, int], _Sender] = OrderedDict()

    def take(
        self, question: ForwardedRequests, waiting: Waiting, *, repeated: bool
    ) -> tuple[ReceivedBatch, bool]:
        """The batch of a question, and whether it is new: then its requests are to be decided.

        Raises IndeterminateError for a number so low that it may have been forgotten.
        """
        if not question.sending:  # an instance of an earlier version sends nothing twice
            return ReceivedBatch(waiting, repeated=repeated), True
        process = question.sending[:_PROCESS_BYTES]
        number = int.from_bytes(question.sending[_PROCESS_BYTES:])
        with self._lock:
            sender = self._sender(process, question.partition)
            known = sender.batches.get(number)
            if known is not None:
                return known, False
            if number <= sender.forgotten:
                raise _unknown()
            batch = sender.batches[number] = ReceivedBatch(waiting, repeated=repeated)
            while len(sender.batches) > KEPT:
                oldest, _ = sender.batches.popitem(last=False)
                sender.forgotten = max(sender.forgotten, oldest)
        return batch, True

    def _sender(self, process: bytes, partition: int) -> _Sender:
        """The sender, as the last in order of time; those that are idle for long are dropped."""
        now = self._clock.monotonic()
        sender = self._senders.setdefault((process, partition), _Sender())
        self._senders.move_to_end((process, partition))
        sender.heard_at = now
        while now - next(iter(self._senders.values())).heard_at > IDLE_S:
            self._senders.popitem(last=False)
        return sender


def _unknown() -> IndeterminateError:
    return IndeterminateError(
        "the outcome of these requests is no longer known here",
        hint="they may or may not have been carried out",
    )
