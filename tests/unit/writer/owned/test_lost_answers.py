"""What becomes of requests that a peer may have got, but did not answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import (
    IndeterminateError,
    LastwordError,
    NotOwnerError,
    PeerUnreachableError,
)
from lastword.records import REQUEST_HEADER, Version, Write
from lastword.rows import decode_row
from lastword.testing.waiting import wait_until
from lastword.writer.owned.requests import Applied, Read, Transact
from lastword.writer.owned.verdict import Verdict
from tests.support.shared_tables.forwarding_lab import (
    IMPATIENT_S,
    OTHER,
    PEER,
    TOPIC,
    TRACE,
    Lab,
    put,
)
from tests.support.shared_tables.owned_lab import PARTITION


@pytest.fixture
def lab() -> Iterator[Lab]:
    lab = Lab()
    yield lab
    lab.close()


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


def test_nobody_waits_for_a_peer_that_the_plan_no_longer_names(lab: Lab) -> None:
    lab.peers.gate.clear()
    waiting = lab.send(put(), put(b"b"))
    wait_until(lambda: lab.peers.asked, "the question is sent")
    lab.owner_writes(OTHER)
    lab.peers.move(TOPIC, PARTITION, OTHER)
    wait_until(lambda: len(lab.peers.asked) > 1, "it is sent to the next owner")
    lab.peers.gate.set()
    assert all(isinstance(each, Applied) for each in waiting.wait(SYSTEM_CLOCK))
    assert {name for name, _ in lab.peers.asked[1:]} == {OTHER}


def test_requests_that_wait_behind_a_lost_peer_go_to_the_next_owner_at_once(lab: Lab) -> None:
    lab.peers.gate.clear()
    lab.witness.gate.clear()
    first = lab.send(put())
    wait_until(lambda: lab.peers.asked, "the question is sent")
    rest = lab.send(put(b"b"))
    lab.peers.move(TOPIC, PARTITION, OTHER)
    wait_until(lambda: len(lab.peers.asked) > 1, "the next one is sent")
    lab.peers.gate.set()
    assert isinstance(rest.wait(SYSTEM_CLOCK)[0], Applied)
    assert [name for name, _ in lab.peers.asked] == [PEER, OTHER]
    lab.owner_writes(OTHER)
    lab.witness.gate.set()
    assert isinstance(first.wait(SYSTEM_CLOCK)[0], Applied)


def test_a_peer_whose_connection_broke_gets_the_same_batch_again(lab: Lab) -> None:
    lab.peers.failures[PEER] = IndeterminateError("the connection broke")
    answers = [PeerUnreachableError("not connected yet"), Applied((Version(PARTITION, 7),))]

    def again() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, LastwordError):
            raise answer
        return answer

    lab.peers.again = again
    (answer,) = lab.results(put())
    assert isinstance(answer, Applied)
    assert answer.version == Version(PARTITION, 7)
    (_, first), (second, third) = lab.peers.asked[0], lab.peers.asked_again
    assert first == second == third, "the number of the sending included"
    assert len(first.sending) == 16


def test_each_batch_has_a_larger_number_than_the_one_before(lab: Lab) -> None:
    lab.results(put())
    lab.results(put())
    one, two = [question.sending for _, question in lab.peers.asked]
    assert one[:8] == two[:8]
    assert one < two


def test_a_peer_that_refused_the_lost_batch_is_believed(lab: Lab) -> None:
    lab.peers.failures[PEER] = IndeterminateError("the connection broke")
    lab.peers.again = lambda: lab.peers.failures.pop(PEER) and NotOwnerError("nothing was written")
    (answer,) = lab.results(put())
    assert isinstance(answer, Applied)
    assert [name for name, _ in lab.peers.asked] == [PEER, PEER]


def test_a_peer_that_does_not_know_the_outcome_leaves_it_to_the_log(lab: Lab) -> None:
    lab.peers.failures[PEER] = IndeterminateError("the connection broke")

    def again() -> LastwordError:
        del lab.peers.failures[PEER]
        lab.owner_writes(OTHER)
        return IndeterminateError("not known any longer")

    lab.peers.again = again
    assert isinstance(lab.results(put())[0], Applied)
    assert len(lab.peers.asked) == 2


def test_without_a_record_in_the_log_the_outcome_is_unknown(lab: Lab) -> None:
    lab.peers.failures[PEER] = IndeterminateError("no answer")
    lab.owner_writes(PEER)
    (answer,) = lab.results(put(), timeout_s=IMPATIENT_S)
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
    in_doubt = lab.send(put(), timeout_s=IMPATIENT_S)
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
