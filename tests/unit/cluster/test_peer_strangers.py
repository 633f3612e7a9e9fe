"""The peer endpoint against those who do not know the secret or do not keep to the rules."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest

from lastword.cluster.peers import PeerSettings, endpoint, frames
from lastword.cluster.peers.handshake import (
    PROOF_BYTES,
    Hello,
    Refusal,
    challenge,
    hello,
    is_challenge,
    judge_hello,
    judge_welcome,
    refusal,
    welcome,
)
from lastword.errors import PeerRefusedError
from lastword.testing import wait_until
from tests.support.shared_tables.peer_pair import APPLICATION, SECRET, PeerPair, Stranger

WAIT_S = 180.0
KEY = SECRET.encode()


@pytest.fixture
def pair() -> Iterator[PeerPair]:
    with PeerPair() as started:
        yield started


@pytest.fixture
def stranger(pair: PeerPair, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stranger]:
    """Connected to the endpoint of ``a``, which is patient: no time limit cuts it off."""
    monkeypatch.setattr(frames, "HANDSHAKE_S", 600)
    monkeypatch.setattr(frames, "FRAME_S", 600)
    with Stranger(pair.start("a").address) as connected:
        yield connected


def introduced(stranger: Stranger) -> Stranger:
    """One that knows the secret all the same."""
    asked = stranger.receive()
    assert asked is not None
    stranger.send(hello(KEY, asked, APPLICATION, "z", "a"))
    answer = stranger.receive()
    assert answer is not None
    assert len(answer) == PROOF_BYTES
    return stranger


def test_the_secret_never_crosses_the_wire() -> None:
    asked = challenge()
    said = hello(KEY, asked, APPLICATION, "b", "a")
    assert KEY not in said
    assert KEY not in welcome(KEY, asked, said)


def test_a_caller_without_the_secret_is_refused_and_gets_no_proof(stranger: Stranger) -> None:
    asked = stranger.receive()
    assert asked is not None
    assert is_challenge(asked)
    stranger.send(hello(b"a guess that is wrong", asked, APPLICATION, "b", "a"))
    assert stranger.receive() == refusal(Refusal.SECRET)
    assert stranger.is_cut_off()


def test_an_instance_with_another_secret_says_so(pair: PeerPair) -> None:
    a = pair.start("a")
    b = pair.start("b", PeerSettings(secret=SECRET[::-1]))
    a.set_members({"b": b.address}, frozenset())
    with pytest.raises(PeerRefusedError, match="different peer secrets"):
        a.ask("b", "echo", b"", WAIT_S)
    assert b.refused == 1


def test_a_member_with_another_secret_is_not_dead(pair: PeerPair) -> None:
    a = pair.start("a")
    b = pair.start("b", PeerSettings(secret=SECRET[::-1]))
    a.set_members({"b": b.address}, frozenset("b"))
    pair.wait_until_heard("a", "b")
    assert not pair.health["a"]["b"].refused


def test_an_endpoint_without_the_secret_does_not_pass_for_a_peer() -> None:
    asked = challenge()
    said = hello(KEY, asked, APPLICATION, "b", "a")
    with pytest.raises(PeerRefusedError):
        judge_welcome(KEY, asked, said, welcome(b"a guess that is wrong", asked, said))


def test_a_recorded_hello_is_worth_nothing_later() -> None:
    recorded = hello(KEY, challenge(), APPLICATION, "b", "a")
    assert judge_hello(KEY, challenge(), recorded, APPLICATION, "a") is Refusal.SECRET


def test_a_caller_does_not_accept_its_own_proof_as_a_welcome() -> None:
    asked = challenge()
    said = hello(KEY, asked, APPLICATION, "b", "a")
    with pytest.raises(PeerRefusedError):
        judge_welcome(KEY, asked, said, said[:PROOF_BYTES])


@pytest.mark.parametrize(("application", "listener"), [("other", "a"), (APPLICATION, "b")])
def test_a_hello_for_another_instance_is_refused(application: str, listener: str) -> None:
    asked = challenge()
    said = hello(KEY, asked, application, "b", listener)
    assert judge_hello(KEY, asked, said, APPLICATION, "a") is Refusal.SOMEBODY_ELSE


def test_a_valid_hello_names_the_caller() -> None:
    asked = challenge()
    judged = judge_hello(KEY, asked, hello(KEY, asked, APPLICATION, "b", "a"), APPLICATION, "a")
    assert isinstance(judged, Hello)
    assert judged.caller == "b"


def test_a_large_frame_before_the_handshake_is_cut_off(stranger: Stranger) -> None:
    stranger.send_raw(struct.pack(">I", frames.HANDSHAKE_BYTES_MAX + 1))
    assert stranger.is_cut_off()


def test_an_oversized_frame_is_cut_off(stranger: Stranger) -> None:
    introduced(stranger).send_raw(struct.pack(">I", frames.FRAME_BYTES_MAX + 1))
    assert stranger.is_cut_off()


def test_an_endless_frame_is_cut_off(pair: PeerPair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "FRAME_S", 0.1)
    with Stranger(pair.start("a").address) as stranger:
        introduced(stranger).send_raw(struct.pack(">I", 1_000) + b"x")
        assert stranger.is_cut_off()


def test_a_caller_that_says_nothing_is_cut_off(
    pair: PeerPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "HANDSHAKE_S", 0.1)
    with Stranger(pair.start("a").address) as stranger:
        assert stranger.is_cut_off()


def test_a_caller_that_does_not_read_its_answers_is_cut_off(
    pair: PeerPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "FRAME_S", 0.1)
    a = pair.start("a")
    answered = []
    a.handle("much", lambda _: answered.append(1) or bytes(8 << 20))  # type: ignore[func-returns-value]
    with Stranger(a.address) as stranger:
        introduced(stranger)
        request = frames.pack_request(frames.PeerRequest(60_000, "much", b""))
        for number in range(4):
            stranger.send(frames.pack_message(frames.REQUEST, number, request))
        wait_until(lambda: not a._endpoint.callers, "the end of the connection")
    assert answered


@pytest.mark.parametrize(
    "frame", [b"", b"\x01", frames.pack_message(99, 1), frames.pack_message(frames.REQUEST, 1)]
)
def test_a_frame_that_means_nothing_is_cut_off(stranger: Stranger, frame: bytes) -> None:
    introduced(stranger).send(frame)
    assert stranger.is_cut_off()


def test_the_number_of_connections_is_limited(
    pair: PeerPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "CONNECTIONS_MAX", 1)
    address = pair.start("a").address
    with Stranger(address) as first, Stranger(address) as second:
        introduced(first)
        assert second.receive() == refusal(Refusal.FULL)
        assert second.is_cut_off()


def test_the_number_of_requests_is_limited(pair: PeerPair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "REQUESTS_MAX", 0)
    a, _ = pair.connected()
    with pytest.raises(Exception, match="requests to answer"):
        a.ask("b", "echo", b"", WAIT_S)
