"""The owned path: every write is decided by the owner of its partition, here or at a peer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lastword.clock import Clock
from lastword.errors import (
    ConfigError,
    InvalidRecordError,
    LastwordError,
    WriteFailedError,
)
from lastword.kafka.log.source import LogSource
from lastword.kafka.write.fenced import FencedLog
from lastword.keyspace import Keyspace
from lastword.records import Write
from lastword.writer.outcome import Outcome
from lastword.writer.owned.conflicts import outcome_of_result
from lastword.writer.owned.decide import Result, refuse_invalid
from lastword.writer.owned.forward.answering import PeerAnswers
from lastword.writer.owned.forward.forwarding import Forwarder, again_name, question_name
from lastword.writer.owned.leases import Leases
from lastword.writer.owned.members import Members
from lastword.writer.owned.owned_partition import OwnedPartition
from lastword.writer.owned.owned_rows import LocalRows
from lastword.writer.owned.owners import Owners
from lastword.writer.owned.partition_owner import PartitionOwner
from lastword.writer.owned.requests import AnyRequest, Current, Put, Read, Transact
from lastword.writer.owned.routing import Router
from lastword.writer.owned.tickets import Sink, Ticket, Waiting
from lastword.writer.owned.value_operations import Operations
from lastword.writer.owned.verdict import LogWitness

WRITE_TIMEOUT_S = 30.0


@dataclass(frozen=True, kw_only=True)
class OwnedTopic:
    """The dependencies of the owned path, among them all that reads or follows the log."""

    topic: str
    keyspace: Keyspace
    open_log: Callable[[int], FencedLog]
    local: Callable[[int], LocalRows]
    lags: Callable[[], Mapping[int, int]]
    log_start: Callable[[int], int]
    source: LogSource
    operations: Operations
    keeps_leases: bool
    batch_bytes: int
    clock: Clock
    timeout_s: float = WRITE_TIMEOUT_S


class OwnedPath:
    """A WritePath with conditions, operations and linearizable reads. Safe from any thread.

    ``timeout_s`` limits each call, including the time in which the partition moves.
    """

    def __init__(self, owned: OwnedTopic, members: Members) -> None:
        self._owned = owned
        self._members = members
        self._clock = owned.clock
        partitions = owned.keyspace.partitions
        self._owners = Owners(owned.topic, partitions, members, self._make_owner)
        self._forwarder = Forwarder(
            owned.topic,
            partitions,
            members,
            local=owned.local,
            witness=self._witness,
            clock=owned.clock,
        )
        self._router = Router(owned.topic, self._owners, members, self._forwarder, owned.clock)
        self._closed = False

    # -- opening and closing ---------------------------------------------------------------

    def open(self) -> None:
        """Offer to own partitions, and start to answer peers."""
        topic = self._owned.topic
        answers = PeerAnswers(
            topic, self._owners, timeout_s=self._owned.timeout_s, clock=self._clock
        )
        self._members.handle(question_name(topic), answers.answer)
        self._members.handle(again_name(topic), answers.answer_again)
        self._members.offer(
            topic,
            self._owned.keyspace.partitions,
            self._owners.follow_plan,
            self._owned.lags,
        )
        self._owners.follow_plan()

    def close(self) -> None:
        """Release the owned partitions after answering the open requests; idempotent."""
        if self._closed:
            return
        self._closed = True
        self._members.withdraw(self._owned.topic)
        self._owners.close()
        self._router.close()
        self._forwarder.close()

    @property
    def owners(self) -> Mapping[int, PartitionOwner]:
        """The owners of the partitions that this process owns."""
        return self._owners.here

    # -- requests --------------------------------------------------------------------------

    def ask(self, requests: Sequence[AnyRequest], timeout_s: float | None = None) -> list[Result]:
        """Send requests to their owners and wait; returns an answer or an error for each."""
        limit_s = self._owned.timeout_s if timeout_s is None else timeout_s
        waiting = Waiting(requests, self._clock.monotonic() + limit_s)
        for ticket in waiting.tickets:
            self._submit(ticket)
        return waiting.wait(self._clock)

    def submit(self, request: AnyRequest, sink: Sink, number: int, timeout_s: float) -> Ticket:
        """Send a request without waiting; the sink gets the answer under ``number``."""
        ticket = Ticket(request, sink, number, self._clock.monotonic() + timeout_s)
        self._submit(ticket)
        return ticket

    def read(self, key: bytes) -> bytes | None:
        """The key's current row, with every write that was acknowledged before, by any owner."""
        owner = self._owners.here.get(self._owned.keyspace.partition_of(key))
        now = None if owner is None else owner.row_now(key)
        if now is not None:
            return now[0]
        (result,) = self.ask([Read(key=key)])
        if isinstance(result, LastwordError):
            raise result
        if not isinstance(result, Current):
            raise RuntimeError(f"unexpected answer to a read: {result!r}")
        return result.row

    def owns(self, key: bytes) -> bool:
        """Whether this process owns the key's partition now."""
        return self._owned.keyspace.partition_of(key) in self._owners.here

    def write(self, records: Sequence[Write]) -> list[Outcome]:
        """Write in order, each record only if its ``expected`` version is the current one."""
        results = self.ask([_request(record) for record in records])
        return [
            outcome_of_result(record.key, result)
            for record, result in zip(records, results, strict=True)
        ]

    # -- internals -------------------------------------------------------------------------

    def _submit(self, ticket: Ticket) -> None:
        try:
            if self._closed:
                raise WriteFailedError(
                    f"{self._owned.topic} is closed for writing", hint="open the table again"
                )
            refuse_invalid(ticket.request)
            partition = self._partition_of(ticket.request)
        except LastwordError as error:
            ticket.sink.deliver([(ticket.number, error)])
            return
        self._router.route(ticket, partition)

    def _partition_of(self, request: AnyRequest) -> int:
        partition_of = self._owned.keyspace.partition_of
        if not isinstance(request, Transact):
            return partition_of(request.key)
        keys = {key for key, _ in (*request.writes, *request.expected)}
        homes = {partition_of(key) for key in keys}
        if len(homes) > 1:
            raise ConfigError(
                f"a transaction needs all keys in one partition, and these are in {len(homes)}",
                hint="combine keys that belong together into one, or write them one by one",
            )
        if not request.writes:
            raise InvalidRecordError("a transaction needs a write", hint="name at least one key")
        return homes.pop()

    def _make_owner(self, partition: int, named: Callable[[], int | None]) -> PartitionOwner:
        owned = self._owned
        return PartitionOwner(
            OwnedPartition(
                topic=owned.topic,
                partition=partition,
                instance=self._members.instance_id,
                open_log=lambda: owned.open_log(partition),
                local=owned.local(partition),
                log_start=lambda: owned.log_start(partition),
                witness=self._witness(partition),
                operations=owned.operations,
                leases=Leases(owned.clock) if owned.keeps_leases else None,
                named=named,
                batch_bytes=owned.batch_bytes,
                clock=owned.clock,
            )
        )

    def _witness(self, partition: int) -> LogWitness:
        return LogWitness(self._owned.source, self._owned.topic, partition, self._clock)


def _request(record: Write) -> Put:
    return Put(
        key=record.key,
        value=record.value,
        headers=record.headers,
        timestamp_ms=record.timestamp_ms,
        expected=record.expected,
        ttl_ms=record.ttl_ms,
    )
