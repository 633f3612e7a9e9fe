"""Forwards requests to the peer that owns their partition: one batch in flight per partition.

Nobody waits for a peer that the plan no longer names. What became of requests without an answer is
found out apart from that, and other requests do not wait for it.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from lastword.clock import Clock
from lastword.errors import IndeterminateError, LastwordError, NotOwnerError, OverloadedError
from lastword.writer.owned.decide import Result
from lastword.writer.owned.forward.lost_answers import LostAnswers, SentBatch, not_there
from lastword.writer.owned.forward.peer_messages import (
    ForwardedRequests,
    decode_reply,
    encode_question,
)
from lastword.writer.owned.members import Members
from lastword.writer.owned.owned_rows import LocalRows
from lastword.writer.owned.request_queue import REQUESTS_MAX
from lastword.writer.owned.requests import Update, new_request_id
from lastword.writer.owned.tickets import Ticket, UnreadFenceError, claimed, deliver, deliver_error
from lastword.writer.owned.verdict import LogWitness

_THREADS_MAX = 32
_BATCH_MAX = 500


def question_name(topic: str) -> str:
    """The name under which peers send requests for the topic."""
    return f"owned:{topic}"


def again_name(topic: str) -> str:
    """The name under which peers send requests again that got no answer.

    An instance of an earlier version refuses it, and would decide the requests twice.
    """
    return f"owned-again:{topic}"


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
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: dict[int, list[Ticket]] = defaultdict(list)
        self._busy: set[int] = set()
        self._owner: dict[int, str] = {}
        self._fences: dict[int, int] = {}
        self._pool = ThreadPoolExecutor(
            min(_THREADS_MAX, partitions), thread_name_prefix=f"lastword-forward-{topic}"
        )
        self._lost = LostAnswers(
            topic,
            partitions,
            ask_again=lambda sent: self._send(again_name(topic), sent),
            is_named=lambda sent: self._is_named(sent.partition, sent.instance_id),
            witness=witness,
            clock=clock,
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
        self._lost.close()

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
            if not self._is_named(partition, instance_id):
                deliver_error(tickets, _moved(instance_id))
                continue
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
        payload = encode_question(
            ForwardedRequests(partition, timeout_s, tuple(requests), start, new_request_id())
        )
        sent = SentBatch(tickets, requests, partition, instance_id, start, deadline, payload)
        try:
            results = self._send(question_name(self._topic), sent)
        except IndeterminateError as error:
            self._lost.find(sent, error)
        except LastwordError as error:
            deliver(tickets, [not_there(instance_id, error)] * len(requests))
        else:
            deliver(tickets, results)

    def _send(self, name: str, sent: SentBatch) -> list[Result]:
        """The peer's answers; waits only while the plan names it as the owner."""
        reply = self._members.ask(
            sent.instance_id,
            name,
            sent.payload,
            max(0.001, sent.deadline - self._clock.monotonic()),
            lambda: self._is_named(sent.partition, sent.instance_id),
        )
        results = decode_reply(reply)
        for each in results:
            if isinstance(each, UnreadFenceError):
                self._fences[sent.partition] = each.fence + 1
        return results

    def _is_named(self, partition: int, instance_id: str) -> bool:
        owner = self._members.owner(self._topic, partition)
        return owner is not None and owner.instance_id == instance_id


def _moved(instance_id: str) -> NotOwnerError:
    return NotOwnerError(
        f"{instance_id} does not own the partition any more",
        hint="nothing was written; try again in a moment",
    )
