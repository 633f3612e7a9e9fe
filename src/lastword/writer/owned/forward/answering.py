"""Answers the requests that peers forward to this process."""

from __future__ import annotations

import msgspec

from lastword.clock import Clock
from lastword.errors import IndeterminateError, InvalidRecordError, LastwordError, NotOwnerError
from lastword.writer.owned.forward.peer_messages import decode_question, encode_reply
from lastword.writer.owned.forward.received import ReplyCache
from lastword.writer.owned.owners import Owners
from lastword.writer.owned.tickets import Waiting


class PeerAnswers:
    """Has the owners in this process decide the requests of peers, and never forwards them."""

    def __init__(self, topic: str, owners: Owners, *, timeout_s: float, clock: Clock) -> None:
        self._topic = topic
        self._owners = owners
        self._timeout_s = timeout_s
        self._clock = clock
        self._received = ReplyCache(clock)

    def answer(self, payload: bytes) -> bytes:
        """Answer requests for one partition."""
        return self._answer(payload, repeated=False)

    def answer_again(self, payload: bytes) -> bytes:
        """Answer requests that a peer sends again because it got no answer."""
        return self._answer(payload, repeated=True)

    def _answer(self, payload: bytes, *, repeated: bool) -> bytes:
        try:
            question = decode_question(payload)
        except msgspec.DecodeError as error:
            raise InvalidRecordError(
                f"cannot read the request: {error}", hint="run the same version on all instances"
            ) from error
        deadline = self._clock.monotonic() + min(question.timeout_s, self._timeout_s)
        waiting = Waiting(question.requests, deadline, question.position)
        try:
            batch, is_new = self._received.take(question, waiting, repeated=repeated)
            if is_new:
                self._submit(waiting, question.partition)
            return batch.reply(self._clock)
        except IndeterminateError as error:  # for the caller, the log may still decide
            return encode_reply([error] * len(question.requests))

    def _submit(self, waiting: Waiting, partition: int) -> None:
        owner = self._owners.here.get(partition)
        if owner is None:
            moved = NotOwnerError(f"{self._topic}: partition {partition} moved")
            waiting.deliver([(ticket.number, moved) for ticket in waiting.tickets])
            return
        for ticket in waiting.tickets:
            try:
                owner.submit(ticket)
            except LastwordError as error:
                waiting.deliver([(ticket.number, error)])
