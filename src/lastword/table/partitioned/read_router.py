"""Brings each read to the instances that can answer it: owners first, then standbys.

A read is handed on once: an instance that cannot answer says so, and whoever asked tries the next.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import msgspec

from lastword.clock import Clock
from lastword.cluster.plan import Assignment, Owner
from lastword.errors import (
    ClusterError,
    IndeterminateError,
    LastwordError,
    MomentGoneError,
    PartitionNotHereError,
    PeerUnreachableError,
    QueryError,
    TableClosedError,
)
from lastword.metrics import Metrics
from lastword.table.partitioned.messages import (
    ReadQuestion,
    ReadReply,
    Wanted,
    decode_reply,
    encode_question,
    question_name,
)
from lastword.table.partitioned.read_server import ReadServer
from lastword.table.partitioned.routing import Routing
from lastword.writer.owned.members import Members

OWNER_S = 0.25
"""How long an instance may take to answer before the next is asked, in the first round."""
AVOID_S = 1.0
"""How long an instance that did not answer is asked last; by then the detector has judged it."""
_PAUSE_S = 0.05
_THREADS = 16

AssignmentOf = Callable[[int], Assignment | None]


class ReadRouter:
    """Routes the reads of one table. Safe to use from any thread."""

    def __init__(
        self,
        topic: str,
        members: Members,
        assignment: AssignmentOf,
        server: ReadServer,
        *,
        clock: Clock,
        metrics: Metrics,
    ) -> None:
        self._topic, self._members = topic, members
        self._assignment, self._server = assignment, server
        self._clock = clock
        self._avoid: dict[str, float] = {}
        self._hops = metrics.counter("routed_reads_total")
        self._failovers = metrics.counter("standby_reads_total")
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix=f"lastword-reads-{topic}")
        self._closed = threading.Event()

    def close(self) -> None:
        """Take no more reads; idempotent."""
        self._closed.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def read(
        self,
        wanted: Wanted,
        routing: Routing,
        *,
        at_least: Mapping[int, int],
        topic_id: str,
        timeout_s: float,
    ) -> list[ReadReply]:
        """The replies that cover every partition wanted, within that time.

        Raises the last error of an instance that was asked; PartitionNotHereError with the address
        of the owner if ``routing`` forbids to ask another instance.
        """
        deadline = self._clock.monotonic() + timeout_s
        left = _Unanswered(wanted, at_least, topic_id, routing)
        replies: list[ReadReply] = []
        while left.partitions:
            asked = self._ask_each(self._grouped(left, routing), left, deadline)
            for instance, partitions, answer in asked:
                if isinstance(answer, ReadReply):
                    replies.append(answer)
                    left.answered(partitions, answer)
                else:
                    left.failed(partitions, instance, answer)
            if not left.partitions:
                break
            late = self._clock.monotonic() + _PAUSE_S >= deadline
            if late or (left.exhausted and (left.gone or not routing.route)):
                raise left.error(self._topic)
            if left.exhausted:
                if self._closed.wait(_PAUSE_S):
                    raise left.error(self._topic)
                left.try_all_again()
        return replies

    # -- who is asked ----------------------------------------------------------------------

    def _grouped(self, left: _Unanswered, routing: Routing) -> dict[str, list[int]]:
        """The partitions by the instance to ask next."""
        groups: dict[str, list[int]] = {}
        for partition in left.partitions:
            for copy in self._copies(partition):
                if not routing.route and not copy.here:
                    continue
                if copy.instance_id not in left.tried[partition]:
                    groups.setdefault(copy.instance_id, []).append(partition)
                    break
            else:
                left.nobody(partition, self._refusal(partition, routing))
        return groups

    def _copies(self, partition: int) -> list[Owner]:
        """Those who keep the partition: the owner first, whoever did not answer just now last."""
        assignment = self._assignment(partition)
        if assignment is None:
            return []
        now = self._clock.monotonic()
        return sorted(
            assignment.copies, key=lambda copy: self._avoid.get(copy.instance_id, 0.0) > now
        )

    def _refusal(self, partition: int, routing: Routing) -> PartitionNotHereError:
        assignment = self._assignment(partition)
        if assignment is None:
            return PartitionNotHereError(
                f"no instance owns partition {partition} of {self._topic} at the moment",
                partition=partition,
                hint="try again in a moment",
            )
        owner = assignment.owner
        hint = "ask that instance" + ("" if routing.route else ", or read with route=True")
        return PartitionNotHereError(
            f"partition {partition} of {self._topic} is owned by {owner.instance_id} at "
            f"{owner.address}",
            partition=partition,
            address=owner.address,
            hint=hint,
        )

    # -- asking ----------------------------------------------------------------------------

    def _ask_each(
        self, groups: Mapping[str, list[int]], left: _Unanswered, deadline: float
    ) -> list[tuple[str, list[int], ReadReply | LastwordError]]:
        """The answers of all groups, asked at the same time; this process answers here."""
        others = [name for name in groups if name != self._members.instance_id]
        waiting: dict[str, Future[ReadReply | LastwordError]] = {}
        if len(groups) > 1:
            waiting = {
                name: self._pool.submit(self._ask, name, groups[name], left, deadline)
                for name in others
            }
        return [
            (
                name,
                groups[name],
                waiting[name].result()
                if name in waiting
                else self._ask(name, groups[name], left, deadline),
            )
            for name in sorted(groups, key=lambda each: each in waiting)
        ]

    def _ask(
        self, instance: str, partitions: list[int], left: _Unanswered, deadline: float
    ) -> ReadReply | LastwordError:
        has_more = any(copy.instance_id != instance for p in partitions for copy in self._copies(p))
        rest_s = max(0.001, deadline - self._clock.monotonic())
        timeout_s = min(left.patience_s, rest_s) if has_more else rest_s
        question = left.question(partitions, timeout_s)
        try:
            if instance == self._members.instance_id:
                return self._server.answer(question)
            self._hops.add(1)
            name = question_name(self._topic)
            asked_at = self._clock.monotonic()
            reply = decode_reply(
                self._members.ask(instance, name, encode_question(question), timeout_s)
            )
            self._avoid.pop(instance, None)
            # It was that old when it was read; since then it has travelled.
            age_s = reply.age_s + self._clock.monotonic() - asked_at
            return msgspec.structs.replace(reply, age_s=age_s)
        except IndeterminateError:
            silent = PeerUnreachableError(
                f"{instance} did not answer a read of {self._topic} within {timeout_s:g} s",
                hint="try again in a moment",
            )
            return self._avoided(instance, silent, has_more=has_more)
        except ClusterError as error:
            return self._avoided(instance, error, has_more=has_more)
        except (QueryError, TableClosedError) as error:
            self._failovers.add(has_more)
            return error

    def _avoided(self, instance: str, error: ClusterError, *, has_more: bool) -> ClusterError:
        self._avoid[instance] = self._clock.monotonic() + AVOID_S
        self._failovers.add(has_more)
        return error


class _Unanswered:
    """The part of a read that has no answer yet, and who was asked in vain."""

    def __init__(
        self, wanted: Wanted, at_least: Mapping[int, int], topic_id: str, routing: Routing
    ) -> None:
        self._wanted, self._at_least = wanted, at_least
        self._topic_id, self._routing = topic_id, routing
        self.partitions = list(wanted.partitions)
        self.tried: dict[int, set[str]] = {p: set() for p in self.partitions}
        self.patience_s = OWNER_S
        self._stuck: set[int] = set()
        self._error: LastwordError | None = None
        self._refusals: list[LastwordError] = []

    @property
    def gone(self) -> bool:
        """Whether all who were asked in this round say that the moment is gone."""
        refusals = self._refusals
        return bool(refusals) and all(isinstance(each, MomentGoneError) for each in refusals)

    @property
    def exhausted(self) -> bool:
        """Whether some partition has nobody left to be asked."""
        return bool(self._stuck)

    def question(self, partitions: list[int], timeout_s: float) -> ReadQuestion:
        return ReadQuestion(
            self._wanted.only(partitions),
            {p: offset for p, offset in self._at_least.items() if p in partitions},
            self._topic_id,
            self._routing.max_stale_s,
            self._routing.max_lag,
            timeout_s,
        )

    def answered(self, partitions: Iterable[int], reply: ReadReply) -> None:
        kept_back = set(reply.unfinished) if self._wanted.whole else set()
        done = set(partitions) - kept_back
        self.partitions = [p for p in self.partitions if p not in done]

    def failed(self, partitions: Iterable[int], instance: str, error: LastwordError) -> None:
        for partition in partitions:
            self.tried[partition].add(instance)
        self._refusals.append(error)
        # A refusal says more than silence.
        if self._error is None or isinstance(error, QueryError):
            self._error = error

    def nobody(self, partition: int, refusal: PartitionNotHereError) -> None:
        self._stuck.add(partition)
        self._error = self._error or refusal

    def try_all_again(self) -> None:
        """Ask everybody once more, and wait longer: they may all be slow."""
        self.patience_s *= 2
        self._refusals.clear()
        self._stuck.clear()
        self.tried = {p: set() for p in self.partitions}

    def error(self, topic: str) -> LastwordError:
        return self._error or PartitionNotHereError(f"{topic} cannot be read at the moment")
