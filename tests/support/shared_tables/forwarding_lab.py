"""The requests of an instance that owns nothing, and peers that answer them, without Kafka."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import (
    IndeterminateError,
    LastwordError,
    PeerRefusedError,
)
from lastword.kafka.write.fenced import FenceNote
from lastword.records import Version, Write
from lastword.writer.owned.forward.forwarding import Forwarder, again_name
from lastword.writer.owned.forward.peer_messages import (
    ForwardedRequests,
    decode_question,
    encode_reply,
)
from lastword.writer.owned.owners import Owners
from lastword.writer.owned.requests import AnyRequest, Applied, Put
from lastword.writer.owned.routing import Router
from lastword.writer.owned.tickets import Waiting
from lastword.writer.owned.verdict import Verdict
from tests.support.shared_tables.only_member import OnlyMember
from tests.support.shared_tables.owned_lab import (
    PARTITION,
    PATIENT_S,
    Followed,
    MemoryFencedLog,
    PartitionLog,
    Witness,
)

TOPIC, PEER, OTHER = "t", "peer", "other"
TRACE = ("trace", b"1")
IMPATIENT_S = 0.2  # for an answer that will not come
TICK_S = 0.01


class Peers(OnlyMember):
    """Members that apply everything they are asked for, except those in ``failures``.

    What is sent again is answered by ``again``; without it, as by an earlier version.
    """

    def __init__(self) -> None:
        super().__init__("me")
        self.asked: list[tuple[str, ForwardedRequests]] = []
        self.asked_again: list[ForwardedRequests] = []
        self.again: Callable[[], Any] | None = None
        self.failures: dict[str, LastwordError] = {}
        self.refusals: list[LastwordError] = []
        self.gate = threading.Event()
        self.gate.set()

    def ask(
        self,
        instance_id: str,
        name: str,
        payload: bytes,
        timeout_s: float,
        still: Callable[[], bool] | None = None,
    ) -> bytes:
        question = decode_question(payload)
        if name == again_name(TOPIC):
            if self.again is None:
                raise PeerRefusedError("not known here")
            self.asked_again.append(question)
            return encode_reply([self.again()] * len(question.requests))
        self.asked.append((instance_id, question))
        while not self.gate.wait(TICK_S):
            if still is not None and not still():
                raise IndeterminateError("nobody waits for it any longer")
        if instance_id in self.failures:
            raise self.failures[instance_id]
        if self.refusals:
            return encode_reply([self.refusals.pop()] * len(question.requests))
        versions = (Version(PARTITION, len(self.asked)),)
        return encode_reply([Applied(versions)] * len(question.requests))


class SearchedLog(Witness):
    """Searches once the gate is open, until there is enough; has what was asked for and found."""

    def __init__(self, log: PartitionLog) -> None:
        super().__init__(log)
        self.asked: list[Callable[[Verdict], bool]] = []
        self.found: list[Verdict] = []
        self.gate = threading.Event()
        self.gate.set()

    def verdict(self, *arguments: Any, **options: Any) -> Verdict:
        _, _, _, deadline, enough = arguments
        self.asked.append(enough)
        self.gate.wait(PATIENT_S)
        while True:
            found = super().verdict(*arguments, **options)
            if found.final or enough(found) or SYSTEM_CLOCK.monotonic() >= deadline:
                break
            threading.Event().wait(TICK_S)
        self.found.append(found)
        return found


class Lab:
    """The requests of one instance, which owns nothing."""

    def __init__(self) -> None:
        self.log = PartitionLog()
        self.peers = Peers()
        self.peers.owners[TOPIC, PARTITION] = PEER
        self.witness = SearchedLog(self.log)
        witness: Any = self.witness
        self.forwarder = Forwarder(
            TOPIC,
            1,
            self.peers,
            local=lambda _partition: Followed(self.log),
            witness=lambda _partition: witness,
            clock=SYSTEM_CLOCK,
        )
        owners = Owners(TOPIC, 1, self.peers, lambda *_: pytest.fail("owns nothing"))
        self.router = Router(TOPIC, owners, self.peers, self.forwarder, SYSTEM_CLOCK)

    def send(self, *requests: AnyRequest, timeout_s: float = PATIENT_S) -> Waiting:
        waiting = Waiting(requests, SYSTEM_CLOCK.monotonic() + timeout_s)
        for ticket in waiting.tickets:
            self.router.route(ticket, PARTITION)
        return waiting

    def results(self, *requests: AnyRequest, timeout_s: float = PATIENT_S) -> list[Any]:
        return self.send(*requests, timeout_s=timeout_s).wait(SYSTEM_CLOCK)

    def owner_writes(self, instance: str, *writes: Write) -> None:
        """A fence record of an instance, and records under it."""
        fenced = MemoryFencedLog(self.log)
        fenced.take_over(FenceNote(instance, 1))
        if writes:
            fenced.append(writes)

    def close(self) -> None:
        self.peers.gate.set()
        self.witness.gate.set()
        self.router.close()
        self.forwarder.close()


def put(key: bytes = b"a") -> Put:
    return Put(key=key, value=b"1")
