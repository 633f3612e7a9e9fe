"""Requests for a partition of another instance: one hop, in batches, and outcomes by the log."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import (
    IndeterminateError,
    LastwordError,
    NotOwnerError,
    PeerUnreachableError,
)
from lastword.kafka.write.fenced import FenceNote
from lastword.records import REQUEST_HEADER, Version, Write
from lastword.rows import decode_row
from lastword.testing.waiting import wait_until
from lastword.writer.owned.forwarding import Forwarder
from lastword.writer.owned.owners import Owners
from lastword.writer.owned.peer_messages import ForwardedRequests, decode_question, encode_reply
from lastword.writer.owned.requests import AnyRequest, Applied, Put, Read, Transact, Update
from lastword.writer.owned.routing import Router
from lastword.writer.owned.tickets import UnreadFenceError, Waiting
from lastword.writer.owned.verdict import Verdict
from tests.support.only_member import OnlyMember
from tests.support.owned_lab import (
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


class Peers(OnlyMember):
    """Members that apply everything they are asked for, except those in ``failures``."""

    def __init__(self) -> None:
        super().__init__("me")
        self.asked: list[tuple[str, ForwardedRequests]] = []
        self.failures: dict[str, LastwordError] = {}
        self.refusals: list[LastwordError] = []
        self.gate = threading.Event()
        self.gate.set()

    def ask(self, instance_id: str, name: str, payload: bytes, timeout_s: float) -> bytes:
        question = decode_question(payload)
        self.asked.append((instance_id, question))
        self.gate.wait(PATIENT_S)
        if instance_id in self.failures:
            raise self.failures[instance_id]
        if self.refusals:
            return encode_reply([self.refusals.pop()] * len(question.requests))
        versions = (Version(PARTITION, len(self.asked)),)
        return encode_reply([Applied(versions)] * len(question.requests))


class SearchedLog(Witness):
    """Searches once the gate is open; has what was asked for and found."""

    def __init__(self, log: PartitionLog) -> None:
        super().__init__(log)
        self.asked: list[Callable[[Verdict], bool]] = []
        self.found: list[Verdict] = []
        self.gate = threading.Event()
        self.gate.set()

    def verdict(self, *arguments: Any, **options: Any) -> Verdict:
        self.asked.append(arguments[4])
        self.gate.wait(PATIENT_S)
        self.found.append(super().verdict(*arguments, **options))
        return self.found[-1]


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


@pytest.fixture
def lab() -> Iterator[Lab]:
    lab = Lab()
    yield lab
    lab.peers.gate.set()
    lab.witness.gate.set()
    lab.router.close()
    lab.forwarder.close()


def put(key: bytes = b"a") -> Put:
    return Put(key=key, value=b"1")


def test_requests_that_come_while_one_is_under_way_are_sent_together(lab: Lab) -> None:
    lab.peers.gate.clear()
    first = lab.send(put())
    wait_until(lambda: lab.peers.asked, "the first question is sent")
    rest = lab.send(*[put(b"%d" % n) for n in range(20)])
    lab.peers.gate.set()
    assert all(isinstance(each, Applied) for each in first.wait(SYSTEM_CLOCK))
    assert all(isinstance(each, Applied) for each in rest.wait(SYSTEM_CLOCK))
    assert [(name, len(question.requests)) for name, question in lab.peers.asked] == [
        (PEER, 1),
        (PEER, 20),
    ]


def test_a_request_follows_its_partition_to_the_next_owner(lab: Lab) -> None:
    lab.peers.failures[PEER] = PeerUnreachableError("nobody listens there")
    waiting = lab.send(put())
    wait_until(lambda: len(lab.peers.asked) >= 2, "it is tried again")
    lab.peers.move(TOPIC, PARTITION, OTHER)
    (answer,) = waiting.wait(SYSTEM_CLOCK)
    assert isinstance(answer, Applied)
    assert lab.peers.asked[-1][0] == OTHER
    ids = {question.requests[0].request_id for _, question in lab.peers.asked}
    assert len(ids) == 1, "every try is the same request"


def test_a_peer_that_names_its_unread_fence_is_asked_again_from_there(lab: Lab) -> None:
    unread = UnreadFenceError("a new fence", fence=41)
    lab.peers.refusals.append(unread)
    (answer,) = lab.results(put())
    assert isinstance(answer, Applied)
    assert [question.position for _, question in lab.peers.asked] == [0, 42]


def test_a_request_that_no_owner_takes_in_time_fails_and_was_not_written(lab: Lab) -> None:
    lab.peers.owners[TOPIC, PARTITION] = None
    (answer,) = lab.results(put(), timeout_s=IMPATIENT_S)
    assert isinstance(answer, NotOwnerError)
    assert not lab.peers.asked


def test_a_function_is_never_sent_to_a_peer(lab: Lab) -> None:
    (answer,) = lab.results(Update(key=b"a", function=lambda row: row))
    assert isinstance(answer, NotOwnerError)
    assert answer.owner == PEER
    assert not lab.peers.asked


def test_a_request_without_an_answer_was_applied_if_the_log_has_its_records(lab: Lab) -> None:
    lab.peers.failures[PEER] = IndeterminateError("no answer")
    request = put()
    lab.peers.gate.clear()
    waiting = lab.send(request)
    wait_until(lambda: lab.peers.asked, "the question is sent")
    mark = (REQUEST_HEADER, request.request_id)
    lab.owner_writes(PEER, Write(b"a", b"1", (TRACE, mark)))
    lab.peers.gate.set()
    (answer,) = waiting.wait(SYSTEM_CLOCK)
    assert isinstance(answer, Applied)
    assert answer.version == Version(PARTITION, 1)
    assert decode_row(answer.row or b"").headers == (TRACE,), "no request id"


def test_a_request_that_a_successors_fence_shuts_out_is_sent_again(lab: Lab) -> None:
    lab.peers.failures[PEER] = IndeterminateError("no answer")
    lab.peers.gate.clear()
    waiting = lab.send(put())
    wait_until(lambda: lab.peers.asked, "the question is sent")
    lab.peers.move(TOPIC, PARTITION, OTHER)
    lab.owner_writes(OTHER)  # no record of the peer can follow
    lab.peers.gate.set()
    assert isinstance(waiting.wait(SYSTEM_CLOCK)[0], Applied)
    assert [name for name, _ in lab.peers.asked] == [PEER, OTHER]


def test_without_a_record_in_the_log_the_outcome_is_unknown(lab: Lab) -> None:
    lab.peers.failures[PEER] = IndeterminateError("no answer")
    lab.owner_writes(PEER)
    (answer,) = lab.results(put())
    assert isinstance(answer, IndeterminateError)
    assert len(lab.peers.asked) == 1


def test_a_read_without_an_answer_is_asked_again(lab: Lab) -> None:
    lab.peers.failures[PEER] = IndeterminateError("no answer")
    waiting = lab.send(Read(key=b"a"))
    wait_until(lambda: len(lab.peers.asked) >= 2, "it is asked again")
    del lab.peers.failures[PEER]
    assert isinstance(waiting.wait(SYSTEM_CLOCK)[0], Applied)


def test_other_requests_do_not_wait_until_the_outcome_of_one_is_known(lab: Lab) -> None:
    lab.witness.gate.clear()
    lab.peers.failures[PEER] = IndeterminateError("the connection broke")
    in_doubt = lab.send(put())
    wait_until(lambda: lab.witness.asked, "the log is searched")
    del lab.peers.failures[PEER]
    assert isinstance(lab.results(put(b"b"))[0], Applied)
    lab.witness.gate.set()
    assert isinstance(in_doubt.wait(SYSTEM_CLOCK)[0], IndeterminateError)


def test_the_search_ends_once_the_log_has_every_record_of_the_requests(lab: Lab) -> None:
    lab.peers.failures[PEER] = IndeterminateError("the connection broke")
    both = Transact(writes=((b"a", b"1"), (b"b", b"2")), expected=())
    lab.peers.gate.clear()
    waiting = lab.send(both)
    wait_until(lambda: lab.peers.asked, "the question is sent")
    marks = ((REQUEST_HEADER, both.request_id),)
    lab.owner_writes(PEER, Write(b"a", b"1", marks), Write(b"b", b"2", marks))
    lab.peers.gate.set()
    assert isinstance(waiting.wait(SYSTEM_CLOCK)[0], Applied)
    (found,), (enough,) = lab.witness.found, lab.witness.asked
    assert enough(found)
    assert not enough(Verdict(found.records[:1]))
