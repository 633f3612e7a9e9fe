"""What peers ask of each other, over real connections on the loopback address."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from lastword.cluster.peers.frames import FRAME_BYTES_MAX
from lastword.errors import (
    ClusterError,
    IndeterminateError,
    NotReadyError,
    PeerRefusedError,
    PeerUnreachableError,
)
from lastword.testing import wait_until
from tests.support.shared_tables.peer_pair import PeerPair

WAIT_S = 180.0


@pytest.fixture
def pair() -> Iterator[PeerPair]:
    with PeerPair() as started:
        yield started


@pytest.mark.parametrize("size", [0, 1, 100_000, 5_000_000])
def test_a_peer_answers(pair: PeerPair, size: int) -> None:
    a, _ = pair.connected()
    assert a.ask("b", "echo", b"x" * size, WAIT_S) == b"x" * size


def test_one_connection_carries_many_requests_at_once(pair: PeerPair) -> None:
    a, b = pair.connected()
    together = threading.Barrier(20, timeout=WAIT_S)

    def answer(payload: bytes) -> bytes:
        together.wait()
        return payload

    b.handle("together", answer)
    with ThreadPoolExecutor(20) as pool:
        answers = pool.map(lambda n: a.ask("b", "together", b"%d" % n, WAIT_S), range(20))
    assert list(answers) == [b"%d" % n for n in range(20)]


def test_a_slow_request_holds_up_neither_others_nor_signs_of_life(pair: PeerPair) -> None:
    a, b = pair.connected()
    a.set_members({"b": b.address}, frozenset("b"))
    let_go = threading.Event()

    def wait(_: bytes) -> bytes:
        assert let_go.wait(WAIT_S)
        return b"done"

    b.handle("slow", wait)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(a.ask, "b", "slow", b"", WAIT_S)
        assert a.ask("b", "echo", b"quick", WAIT_S) == b"quick"
        pair.wait_until_heard("a", "b")
        let_go.set()
        assert slow.result(WAIT_S) == b"done"


def test_an_error_of_lastword_is_raised_where_it_was_asked(pair: PeerPair) -> None:
    a, b = pair.connected()

    def refuse(_: bytes) -> bytes:
        raise NotReadyError("the table is restoring", hint="wait a little")

    b.handle("refuse", refuse)
    with pytest.raises(NotReadyError, match="is restoring") as raised:
        a.ask("b", "refuse", b"", WAIT_S)
    assert raised.value.hint == "wait a little"
    assert raised.value.retriable


def test_any_other_error_says_only_that_the_peer_failed(pair: PeerPair) -> None:
    a, b = pair.connected()

    def fail(_: bytes) -> bytes:
        raise KeyError("something private")

    b.handle("fail", fail)
    with pytest.raises(ClusterError, match="failed to answer 'fail'") as raised:
        a.ask("b", "fail", b"", WAIT_S)
    assert "private" not in str(raised.value)


def test_a_request_without_a_handler_is_refused(pair: PeerPair) -> None:
    a, _ = pair.connected()
    with pytest.raises(PeerRefusedError, match="does not answer 'dance'"):
        a.ask("b", "dance", b"", WAIT_S)


def test_an_address_that_is_not_a_members_is_never_asked(pair: PeerPair) -> None:
    a, b = pair.connected()
    asked = []
    b.handle("note", lambda payload: asked.append(payload) or b"")  # type: ignore[func-returns-value]
    a.set_members({"a": a.address}, frozenset())
    with pytest.raises(PeerUnreachableError, match="not another member"):
        a.ask("b", "note", b"", WAIT_S)
    assert not asked


def test_a_member_that_has_left_is_not_asked_over_the_connection_that_was_kept(
    pair: PeerPair,
) -> None:
    a, _ = pair.connected()
    a.ask("b", "echo", b"", WAIT_S)
    a.set_members({}, frozenset())
    with pytest.raises(PeerUnreachableError):
        a.ask("b", "echo", b"", WAIT_S)


def test_a_request_of_a_peer_is_not_passed_on_to_another(pair: PeerPair) -> None:
    a, b = pair.connected()
    b.set_members({"a": a.address}, frozenset())
    a.handle("echo", lambda payload: payload)
    assert b.ask("a", "echo", b"", WAIT_S) == b""
    b.handle("pass on", lambda payload: b.ask("a", "echo", payload, WAIT_S))
    with pytest.raises(PeerRefusedError, match="must not be forwarded"):
        a.ask("b", "pass on", b"", WAIT_S)


def test_a_request_that_cannot_be_sent_has_done_nothing(pair: PeerPair) -> None:
    a, b = pair.connected()
    b.close()
    with pytest.raises(PeerUnreachableError, match="cannot connect to 'b'"):
        a.ask("b", "echo", b"", WAIT_S)


def test_a_request_without_an_answer_is_indeterminate(pair: PeerPair) -> None:
    a, b = pair.connected()
    let_go = threading.Event()
    b.handle("slow", lambda _: b"%d" % let_go.wait(WAIT_S))
    with pytest.raises(IndeterminateError, match="did not answer 'slow'"):
        a.ask("b", "slow", b"", 0.05)
    let_go.set()
    assert a.ask("b", "echo", b"still there", WAIT_S) == b"still there"


def test_a_caller_that_has_lost_interest_does_not_wait_for_the_answer(pair: PeerPair) -> None:
    a, b = pair.connected()
    let_go, asked = threading.Event(), []
    b.handle("slow", lambda _: b"%d" % let_go.wait(WAIT_S))

    def still() -> bool:
        asked.append(True)
        return len(asked) < 3

    with pytest.raises(IndeterminateError, match="did not answer 'slow'"):
        a.ask("b", "slow", b"", WAIT_S * 60, still)
    let_go.set()
    assert a.ask("b", "echo", b"still there", WAIT_S, lambda: True) == b"still there"


def test_a_request_whose_connection_breaks_is_indeterminate(pair: PeerPair) -> None:
    a, b = pair.connected()
    begun, let_go = threading.Event(), threading.Event()

    def wait(_: bytes) -> bytes:
        begun.set()
        let_go.wait(WAIT_S)
        return b""

    b.handle("slow", wait)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(a.ask, "b", "slow", b"", WAIT_S)
        assert begun.wait(WAIT_S)
        b.close()
        with pytest.raises(IndeterminateError, match="broke before it answered"):
            asked.result(WAIT_S)
        let_go.set()


def test_too_much_at_once_is_refused_on_both_sides(pair: PeerPair) -> None:
    a, b = pair.connected()
    b.handle("much", lambda _: bytes(FRAME_BYTES_MAX))
    with pytest.raises(PeerRefusedError, match="more than a peer accepts"):
        a.ask("b", "echo", bytes(FRAME_BYTES_MAX), WAIT_S)
    with pytest.raises(PeerRefusedError, match="more than the limit"):
        a.ask("b", "much", b"", WAIT_S)


def test_a_peer_that_comes_back_is_asked_again(pair: PeerPair) -> None:
    a, b = pair.connected()
    assert a.ask("b", "echo", b"1", WAIT_S) == b"1"
    b.close()
    again = pair.start("b")
    again.handle("echo", lambda payload: payload)
    a.set_members({"b": again.address}, frozenset())
    assert a.ask("b", "echo", b"2", WAIT_S) == b"2"


def test_all_members_are_asked_and_every_answer_counts(pair: PeerPair) -> None:
    a, b = pair.connected()
    c = pair.start("c")
    a.set_members({"b": b.address, "c": c.address}, frozenset())
    assert a.ask_all(["b", "c", "nobody"], "echo", b"?", WAIT_S) == {"b": b"?"}


def test_a_member_that_is_gone_is_found_to_refuse(pair: PeerPair) -> None:
    a, b = pair.connected()
    a.set_members({"b": b.address}, frozenset("b"))
    pair.wait_until_heard("a", "b")
    assert not pair.health["a"]["b"].refused
    b.close()
    wait_until(lambda: pair.health["a"]["b"].refused, "a refused connection")


def test_a_member_that_was_never_reached_is_found_to_refuse(pair: PeerPair) -> None:
    a, b = pair.connected()
    b.close()
    a.set_members({"b": b.address}, frozenset("b"))
    wait_until(lambda: "b" in pair.health["a"] and pair.health["a"]["b"].refused, "refused")


def test_another_instance_at_the_address_is_not_the_member(pair: PeerPair) -> None:
    a, b = pair.connected()
    a.set_members({"c": b.address}, frozenset("c"))
    wait_until(lambda: "c" in pair.health["a"] and pair.health["a"]["c"].refused, "refused")
    with pytest.raises(PeerUnreachableError, match="another instance listens"):
        a.ask("c", "echo", b"", WAIT_S)


def test_a_watched_peer_says_whether_it_is_deaf(pair: PeerPair) -> None:
    a, b = pair.connected()
    a.set_members({"a": a.address, "b": b.address}, frozenset("b"))
    pair.wait_until_heard("a", "b")
    assert not pair.health["a"]["b"].deaf
    pair.deaf = {"b"}
    wait_until(lambda: pair.health["a"]["b"].deaf, "it says so")
    pair.deaf = set()
    wait_until(lambda: not pair.health["a"]["b"].deaf, "it hears again")
