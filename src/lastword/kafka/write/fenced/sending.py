"""Sends one batch until its outcome is known or time is up: always the same bytes.

A leader that already has the batch answers with its first offset, so after a lost answer the batch
is sent again.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from lastword.clock import Clock
from lastword.kafka.write.fenced.error_codes import Meaning, describe, meaning_of


class LeaderAnswer(NamedTuple):
    """The leader's answer to a batch: 0 and the offset of its first record, or an error code."""

    code: int
    offset: int


class NotSentError(Exception):
    """The batch certainly did not leave this process."""


class NoAnswerError(Exception):
    """The batch may have left this process, but there was no answer."""


class Wire(Protocol):
    """Sends batches to the leader."""

    def produce(self, batch: bytes, deadline: float) -> LeaderAnswer:
        """Send the batch to the leader. Raises NotSentError or NoAnswerError."""

    def find_leader(self, deadline: float) -> None:
        """Look up the leader again, after a short pause."""


class SendResult(NamedTuple):
    """The outcome of a batch. A rejection is definite only if no earlier try may have worked."""

    meaning: Meaning
    reason: str
    may_be_written: bool = False
    offset: int = -1


def send_until_settled(wire: Wire, batch: bytes, deadline: float, clock: Clock) -> SendResult:
    """Send a batch; NOT_YET or UNSURE only if time ran out."""
    unsure = False
    while True:
        try:
            code, offset = wire.produce(batch, deadline)
        except NotSentError as error:
            meaning, reason = Meaning.NOT_YET, str(error)
        except NoAnswerError as error:
            meaning, reason = Meaning.UNSURE, str(error)
        else:
            meaning, reason = meaning_of(code), describe(code)
            if meaning is Meaning.WRITTEN and offset >= 0:
                return SendResult(meaning, reason, offset=offset)
            if meaning is Meaning.WRITTEN:
                meaning, reason = Meaning.STRANGE, "acknowledged without an offset"
        unsure = unsure or meaning in (Meaning.UNSURE, Meaning.STRANGE)
        again = meaning in (Meaning.UNSURE, Meaning.NOT_YET)
        if not again or clock.monotonic() >= deadline:
            return SendResult(meaning, reason, may_be_written=unsure)
        wire.find_leader(deadline)
