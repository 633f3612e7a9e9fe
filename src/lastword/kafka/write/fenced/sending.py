"""Sends one batch until its fate is settled or time is up: always the same bytes.

A leader that has the batch already answers with its first offset, so a lost answer is made good by
asking again.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from lastword.clock import Clock
from lastword.kafka.write.fenced.answers import Meaning, describe, meaning_of


class Answer(NamedTuple):
    """What the leader says to a batch: 0 and the offset of its first record, or an error code."""

    code: int
    offset: int


class NotSentError(Exception):
    """The batch certainly did not leave this process."""


class NoAnswerError(Exception):
    """The batch may have left this process, and nobody answered."""


class Wire(Protocol):
    """The way to the leader."""

    def produce(self, batch: bytes, deadline: float) -> Answer:
        """Have the batch appended. Raises NotSentError or NoAnswerError."""

    def find_leader(self, deadline: float) -> None:
        """Look for another leader, after a moment."""


class Verdict(NamedTuple):
    """What became of a batch. A refusal is definite only if no earlier try may have succeeded."""

    meaning: Meaning
    reason: str
    may_be_written: bool = False
    offset: int = -1


def send_until_settled(wire: Wire, batch: bytes, deadline: float, clock: Clock) -> Verdict:
    """Send a batch; NOT_YET or UNSURE only if time is up."""
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
                return Verdict(meaning, reason, offset=offset)
            if meaning is Meaning.WRITTEN:
                meaning, reason = Meaning.STRANGE, "acknowledged without an offset"
        unsure = unsure or meaning in (Meaning.UNSURE, Meaning.STRANGE)
        again = meaning in (Meaning.UNSURE, Meaning.NOT_YET)
        if not again or clock.monotonic() >= deadline:
            return Verdict(meaning, reason, may_be_written=unsure)
        wire.find_leader(deadline)
