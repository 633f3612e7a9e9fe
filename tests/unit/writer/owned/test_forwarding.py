"""Requests for a partition of another instance: one hop, in batches."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import (
    NotOwnerError,
    PeerUnreachableError,
)
from lastword.testing.waiting import wait_until
from lastword.writer.owned.requests import Applied, Update
from lastword.writer.owned.tickets import UnreadFenceError
from tests.support.shared_tables.forwarding_lab import IMPATIENT_S, OTHER, PEER, TOPIC, Lab, put
from tests.support.shared_tables.owned_lab import PARTITION


@pytest.fixture
def lab() -> Iterator[Lab]:
    lab = Lab()
    yield lab
    lab.close()


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
