"""Forwards requests to the peer that owns their partition: one batch in flight per partition.

When a connection breaks, the log says what became of the requests in flight. Others do not wait
for that: the peer may go on as the owner, and then no fence record ever comes to end the search.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from lastword.clock import Clock
from lastword.errors import IndeterminateError, LastwordError, NotOwnerError, OverloadedError
from lastword.kafka.write.fenced import FenceRecord
from lastword.records import Record, Version
from lastword.rows import encode_row
from lastword.writer.owned.decide import Result
from lastword.writer.owned.leases import lease_of
from lastword.writer.owned.members import Members
from lastword.writer.owned.owned_rows import LocalRows
from lastword.writer.owned.peer_messages import (
    ForwardedRequests,
    decode_reply,
    encode_question,
)
from lastword.writer.owned.request_queue import REQUESTS_MAX
from lastword.writer.owned.requests import (
    Acquire,
    Applied,
    Leased,
    Read,
    Release,
    Renew,
    SentRequest,
    Transact,
    Update,
)
from lastword.writer.owned.tickets import Ticket, UnreadFenceError, claimed, deliver, deliver_error
from lastword.writer.owned.verdict import LogWitness, Verdict, without_request_id

log = logging.getLogger(__name__)

_THREADS_MAX = 32
_JUDGES_MAX = 8
_BATCH_MAX = 500


def question_name(topic: str) -> str:
    """The name under which peers send requests for the topic."""
    return f"owned:{topic}"


class Forwarder:
    """Asks peers on a few threads. Safe to use from any thread."""

    def __init__(
        self,
        topic: str,
        partitions: int,
        members: Members,
        *,
        local: Callable[[int], LocalRows],
        witness: Callable[[int], LogWitness],
        clock: Clock,
    ) -> None:
        self._topic = topic
        self._members = members
        self._local = local
        self._witness = witness
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: dict[int, list[Ticket]] = defaultdict(list)
        self._busy: set[int] = set()
        self._owner: dict[int, str] = {}
        self._fences: dict[int, int] = {}
        self._pool = ThreadPoolExecutor(
            min(_THREADS_MAX, partitions), thread_name_prefix=f"lastword-forward-{topic}"
        )
        self._judges = ThreadPoolExecutor(
            min(_JUDGES_MAX, partitions), thread_name_prefix=f"lastword-judge-{topic}"
        )

    def forward(self, ticket: Ticket, partition: int, instance_id: str) -> None:
        """Send a request to that instance with the next batch; raises OverloadedError."""
        with self._lock:
            if len(self._waiting[partition]) >= REQUESTS_MAX:
                raise OverloadedError(
                    f"{REQUESTS_MAX} requests wait for {instance_id}",
                    hint="nothing was written; try again in a moment, and write in batches",
                )
            self._waiting[partition].append(ticket)
            self._owner[partition] = instance_id
            if partition in self._busy:
                return
            self._busy.add(partition)
        self._pool.submit(self._drain, partition)

    def close(self) -> None:
        """Wait for the requests in flight; idempotent."""
        self._pool.shutdown()
        self._judges.shutdown()

    def _drain(self, partition: int) -> None:
        while True:
            with self._lock:
                waiting = self._waiting[partition]
                batch, self._waiting[partition] = waiting[:_BATCH_MAX], waiting[_BATCH_MAX:]
                if not batch:
                    self._busy.discard(partition)
                    return
                instance_id = self._owner[partition]
            tickets = claimed(batch, self._clock.monotonic())
            try:
                self._ask(tickets, partition, instance_id)
            except LastwordError as error:
                deliver_error(tickets, error)

    def _ask(self, tickets: Sequence[Ticket], partition: int, instance_id: str) -> None:
        if not tickets:
            return
        requests = [t.request for t in tickets if not isinstance(t.request, Update)]
        deadline = max(ticket.deadline for ticket in tickets)
        timeout_s = max(0.001, deadline - self._clock.monotonic())
        # The records come after this offset, and so does any fence that ends the requests: the
        # peer decides them only under a fence before it.
        start = max(self._local(partition).position(), self._fences.get(partition, 0))
        payload = encode_question(ForwardedRequests(partition, timeout_s, tuple(requests), start))
        try:
            reply = self._members.ask(instance_id, question_name(self._topic), payload, timeout_s)
        except IndeterminateError as error:
            sent = _Sent(tickets, requests, partition, instance_id, start, deadline)
            self._judges.submit(self._judge, sent, error)
        except LastwordError as error:
            deliver(tickets, [_not_there(instance_id, error)] * len(requests))
        else:
            results = decode_reply(reply)
            for each in results:
                if isinstance(each, UnreadFenceError):
                    self._fences[partition] = each.fence + 1
            deliver(tickets, results)

    def _judge(self, sent: _Sent, error: IndeterminateError) -> None:
        """Answer requests whose answer is lost by what the log says."""
        try:
            verdict = self._verdict(sent)
        except LastwordError as unread:
            log.warning("%s: the outcome of requests is unknown: %s", self._topic, unread)
            verdict = Verdict()
        absent = _not_there(sent.instance_id, error)
        deliver(sent.tickets, _judged(sent.requests, verdict, absent, error))

    def _verdict(self, sent: _Sent) -> Verdict:
        """Find the outcome in the log; that nothing was written is certain after a new fence."""
        records = {each.request_id: _records_of(each) for each in sent.requests}
        wanted = {each: count for each, count in records.items() if count}
        if not wanted:
            return Verdict()

        def replaced(fence: FenceRecord) -> bool:
            return fence.instance != sent.instance_id

        def all_found(verdict: Verdict) -> bool:
            found = Counter(each.request_id for each in verdict.records)
            return all(found[each] >= count for each, count in wanted.items())

        witness = self._witness(sent.partition)
        return witness.verdict(wanted, sent.start, replaced, sent.deadline, all_found)


class _Sent(NamedTuple):
    """Requests that a peer may have got; their records are at ``start`` or later."""

    tickets: Sequence[Ticket]
    requests: Sequence[SentRequest]
    partition: int
    instance_id: str
    start: int
    deadline: float


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


def _not_there(instance_id: str, error: LastwordError) -> NotOwnerError:
    return NotOwnerError(
        f"{instance_id} did not accept the request: {error}",
        hint="nothing was written; try again in a moment",
    )
