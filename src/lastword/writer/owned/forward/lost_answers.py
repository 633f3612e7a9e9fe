"""Finds out what became of requests that a peer may have got, but did not answer.

Two ways lead to that, and both are tried at once. The log has the records of the requests, or the
fence record of another owner without them. And as long as the plan names the peer, it gets the
requests again, and decides them once.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import compress
from typing import NamedTuple

from lastword.clock import Clock
from lastword.errors import (
    IndeterminateError,
    LastwordError,
    NotOwnerError,
    PeerUnreachableError,
)
from lastword.kafka.write.fenced import FenceRecord
from lastword.records import Record, Version
from lastword.rows import encode_row
from lastword.writer.owned.decide import Result
from lastword.writer.owned.leases import lease_of
from lastword.writer.owned.requests import (
    Acquire,
    Applied,
    Leased,
    Read,
    Release,
    Renew,
    SentRequest,
    Transact,
)
from lastword.writer.owned.tickets import Ticket, deliver
from lastword.writer.owned.verdict import LogWitness, Verdict, without_request_id

log = logging.getLogger(__name__)

_THREADS_MAX = 8
_PAUSES_S = (0.05, 0.5)


class SentBatch(NamedTuple):
    """Requests that a peer may have got as ``payload``; their records are at ``start`` or later."""

    tickets: Sequence[Ticket]
    requests: Sequence[SentRequest]
    partition: int
    instance_id: str
    start: int
    deadline: float
    payload: bytes

    def only(self, chosen: Sequence[bool]) -> SentBatch:
        """The chosen ones of them."""
        tickets, requests = compress(self.tickets, chosen), compress(self.requests, chosen)
        return self._replace(tickets=list(tickets), requests=list(requests))


AskAgain = Callable[[SentBatch], list[Result]]
"""(batch) -> the peer's answers when it gets the batch again; raises as ``Members.ask``."""


class LostAnswers:
    """Answers such requests, on a few threads. Safe to use from any thread.

    ``is_named`` says whether the plan still names the peer as the owner of the partition.
    """

    def __init__(
        self,
        topic: str,
        partitions: int,
        *,
        ask_again: AskAgain,
        is_named: Callable[[SentBatch], bool],
        witness: Callable[[int], LogWitness],
        clock: Clock,
    ) -> None:
        self._topic = topic
        self._ask_again, self._is_named = ask_again, is_named
        self._witness = witness
        self._clock = clock
        count = min(_THREADS_MAX, partitions)
        self._searches = ThreadPoolExecutor(count, thread_name_prefix=f"lastword-judge-{topic}")
        self._calls = ThreadPoolExecutor(count, thread_name_prefix=f"lastword-again-{topic}")

    def find(self, sent: SentBatch, error: IndeterminateError) -> None:
        """Answer the requests once their outcome is known, or with ``error``; returns at once."""
        self._searches.submit(self._find, sent, error)

    def close(self) -> None:
        """Wait for the requests in doubt; idempotent."""
        self._searches.shutdown()
        self._calls.shutdown()

    def _find(self, sent: SentBatch, error: IndeterminateError) -> None:
        verdict, rest = Verdict(), sent
        settled = threading.Event()
        asked = self._calls.submit(self._ask_until, sent, settled)
        try:
            verdict = self._search(sent, lambda: asked.done() and bool(asked.result()))
            if asked.done() and asked.result() and not verdict.final:
                rest = _deliver_known(sent, asked.result())
                verdict = self._search(rest, lambda: False)
        except LastwordError as unread:
            log.warning("%s: the outcome of requests is unknown: %s", self._topic, unread)
        finally:
            settled.set()
        absent = not_there(rest.instance_id, error)
        deliver(rest.tickets, _judged(rest.requests, verdict, absent, error))

    def _ask_until(self, sent: SentBatch, settled: threading.Event) -> list[Result]:
        """The peer's own answers; none if it gives none while the plan names it."""
        pause_s, longest_s = _PAUSES_S
        if not any(map(_records_of, sent.requests)):
            return []  # reads may be asked elsewhere at once
        while self._is_named(sent) and self._clock.monotonic() < sent.deadline:
            try:
                return self._ask_again(sent)
            except (IndeterminateError, PeerUnreachableError):
                if settled.wait(pause_s):
                    break
            except LastwordError as error:  # of an instance of an earlier version
                log.debug("%s: %s does not say: %s", self._topic, sent.instance_id, error)
                break
            pause_s = min(longest_s, 2 * pause_s)
        return []

    def _search(self, sent: SentBatch, answered: Callable[[], bool]) -> Verdict:
        """Search the log; that nothing was written is certain after another owner's fence."""
        records = {each.request_id: _records_of(each) for each in sent.requests}
        wanted = {each: count for each, count in records.items() if count}
        if not wanted:
            return Verdict()

        def replaced(fence: FenceRecord) -> bool:
            return fence.instance != sent.instance_id

        def enough(verdict: Verdict) -> bool:
            found = Counter(each.request_id for each in verdict.records)
            return answered() or all(found[each] >= count for each, count in wanted.items())

        witness = self._witness(sent.partition)
        return witness.verdict(wanted, sent.start, replaced, sent.deadline, enough)


def _deliver_known(sent: SentBatch, answers: Sequence[Result]) -> SentBatch:
    """Deliver the answers that are definite; returns the other requests."""
    known = [not isinstance(each, IndeterminateError) for each in answers]
    deliver(list(compress(sent.tickets, known)), compress(answers, known))
    return sent.only([not each for each in known])


def _records_of(request: SentRequest) -> int:
    """How many records the request writes if it is applied."""
    if isinstance(request, Transact):
        return len(request.writes)
    return 0 if isinstance(request, Read) else 1


def _judged(
    requests: Sequence[SentRequest], verdict: Verdict, absent: Result, unknown: Result
) -> list[Result]:
    results: list[Result] = []
    for request in requests:
        records = [r.record for r in verdict.records if r.request_id == request.request_id]
        if records:
            results.append(_answer(request, records))
        else:
            # A read may be asked again, whatever became of it.
            certain = verdict.final or isinstance(request, Read)
            results.append(absent if certain else unknown)
    return results


def _answer(request: SentRequest, records: Sequence[Record]) -> Result:
    """The answer that the peer would have given, derived from the records that it wrote."""
    last = records[-1]
    if isinstance(request, Release):
        return Leased(request.token)
    if isinstance(request, Acquire | Renew):
        token = lease_of(last.value or b"").token
        return Leased(last.offset if token is None else token)
    row = None
    if last.value is not None:
        headers = without_request_id(last.headers)
        row = encode_row(last.offset, last.timestamp_ms, headers, last.value)
    return Applied(tuple(Version(r.partition, r.offset) for r in records), row)


def not_there(instance_id: str, error: LastwordError) -> NotOwnerError:
    """The answer to a request that the peer certainly did not carry out."""
    return NotOwnerError(
        f"{instance_id} did not accept the request: {error}",
        hint="nothing was written; try again in a moment",
    )
