"""Who is asked for a read, and for how long, while instances do not answer."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from lastword.cluster.plan import Assignment, Owner
from lastword.errors import IndeterminateError, LastwordError, MomentGoneError, PeerUnreachableError
from lastword.metrics import Metrics
from lastword.table.partitioned.messages import KeysWanted, ReadReply, encode_reply
from lastword.table.partitioned.read_router import OWNER_S, ReadRouter
from lastword.table.partitioned.routing import DEFAULT_ROUTING
from lastword.testing.fake_clock import FakeClock
from tests.support.shared_tables.only_member import OnlyMember

OWNER, STANDBY = Owner("owner", "h:1", 1), Owner("standby", "h:2", 1)
WANTED = KeysWanted({0: [b"key"]})
TIMEOUT_S = 10.0


class Peers(OnlyMember):
    """Each instance answers after so many seconds; silent ones never do.

    Those in ``forgot`` no longer know the moment that is read.
    """

    def __init__(
        self, clock: FakeClock, takes_s: dict[str, float], forgot: Collection[str] = ()
    ) -> None:
        super().__init__("me")
        self.asked: list[tuple[str, float]] = []
        self._clock, self.takes_s, self._forgot = clock, takes_s, forgot

    def ask(self, instance_id: str, name: str, payload: bytes, timeout_s: float) -> bytes:
        self.asked.append((instance_id, timeout_s))
        takes_s = self.takes_s[instance_id]
        self._clock.advance(seconds=min(takes_s, timeout_s))
        if takes_s > timeout_s:
            raise IndeterminateError("no answer")
        if instance_id in self._forgot:
            raise MomentGoneError("no longer known here")
        return encode_reply(ReadReply(instance_id, [], [], 0, {0: 7}, "t", 0, False, 0.0, 0.5))


def route(peers: Peers, clock: FakeClock, *copies: Owner) -> list[ReadReply]:
    server: Any = None  # nothing is kept here
    assignment = Assignment(copies[0], copies)
    router = ReadRouter(
        "t", peers, lambda _: assignment, server, clock=clock, metrics=Metrics(table="t")
    )
    try:
        return router.read(WANTED, DEFAULT_ROUTING, at_least={}, topic_id="t", timeout_s=TIMEOUT_S)
    finally:
        router.close()


def test_a_standby_is_asked_when_the_owner_is_silent_for_a_moment() -> None:
    clock = FakeClock()
    peers = Peers(clock, {"owner": 60.0, "standby": 0.01})
    (reply,) = route(peers, clock, OWNER, STANDBY)
    assert reply.instance == "standby"
    assert [name for name, _ in peers.asked] == ["owner", "standby"]
    assert peers.asked[0][1] == OWNER_S


def test_a_silent_instance_costs_a_moment_even_if_it_is_asked_last() -> None:
    clock = FakeClock()
    peers = Peers(clock, {"owner": 60.0, "standby": 1.5 * OWNER_S})  # slow, and longer than that
    (reply,) = route(peers, clock, OWNER, STANDBY)
    assert reply.instance == "standby"
    assert [s for _, s in peers.asked] == [OWNER_S, OWNER_S, 2 * OWNER_S, 2 * OWNER_S]


def test_the_time_that_an_answer_travelled_is_part_of_its_age() -> None:
    clock = FakeClock()
    peers = Peers(clock, {"owner": 60.0, "standby": 0.2})
    (reply,) = route(peers, clock, OWNER, STANDBY)
    assert reply.age_s == pytest.approx(0.7)


def test_an_owner_without_standbys_is_given_all_the_time() -> None:
    clock = FakeClock()
    peers = Peers(clock, {"owner": 5.0})
    (reply,) = route(peers, clock, OWNER)
    assert reply.instance == "owner"
    assert len(peers.asked) == 1


def test_a_read_that_nobody_answers_ends_in_time() -> None:
    clock = FakeClock()
    peers = Peers(clock, {"owner": 60.0, "standby": 60.0})
    with pytest.raises(LastwordError) as error:
        route(peers, clock, OWNER, STANDBY)
    assert isinstance(error.value, PeerUnreachableError)
    assert sum(timeout_s for _, timeout_s in peers.asked) <= TIMEOUT_S


def test_a_moment_that_the_owner_has_forgotten_may_be_known_to_a_standby() -> None:
    clock = FakeClock()
    peers = Peers(clock, {"owner": 0.01, "standby": 0.01}, forgot={"owner"})
    (reply,) = route(peers, clock, OWNER, STANDBY)
    assert reply.instance == "standby"


def test_a_moment_that_nobody_knows_is_refused_after_one_round() -> None:
    clock = FakeClock()
    peers = Peers(clock, {"owner": 0.01, "standby": 0.01}, forgot={"owner", "standby"})
    with pytest.raises(MomentGoneError):
        route(peers, clock, OWNER, STANDBY)
    assert [name for name, _ in peers.asked] == ["owner", "standby"]


def test_a_moment_is_not_given_up_while_one_copy_is_silent() -> None:
    clock = FakeClock()
    peers = Peers(clock, {"owner": 1.5 * OWNER_S, "standby": 0.01}, forgot={"standby"})
    (reply,) = route(peers, clock, OWNER, STANDBY)
    assert reply.instance == "owner"
