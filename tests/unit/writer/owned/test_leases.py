from __future__ import annotations

from typing import Any

import pytest

from lastword.errors import InvalidRecordError
from lastword.rows import encode_row
from lastword.testing.fake_clock import FakeClock
from lastword.writer.owned.decide import decide
from lastword.writer.owned.draft import Draft
from lastword.writer.owned.leases import Leases
from lastword.writer.owned.requests import (
    Acquire,
    AnyRequest,
    Denied,
    Leased,
    Put,
    Release,
    Renew,
)
from tests.support.shared_tables.owned_lab import OPERATIONS

KEY = b"job-42"
TTL_MS = 10_000


class Owner:
    """Decides batches on rows in memory; a new one takes over from the one before."""

    def __init__(self, clock: FakeClock, before: Owner | None = None) -> None:
        self.clock = clock
        self.rows: dict[bytes, bytes] = {} if before is None else before.rows
        self.end = 5 if before is None else before.end
        self.leases = Leases(clock)
        self.leases.rearm(self.rows.items())

    def ask(self, *requests: AnyRequest) -> list[Any]:
        draft = Draft(0, self.rows.get, self.clock.now_ms())
        decided = decide(requests, draft, OPERATIONS, self.leases)
        self.leases.drop_ended(draft)
        offsets = range(self.end, self.end + len(decided.records))
        self.end += len(decided.records)
        answers = decided.answers(offsets)
        for key, (_, row) in draft.rows(offsets).items():
            self.rows.pop(key, None)
            if row is not None:
                self.rows[key] = row
        return answers


def acquire(holder: str) -> Acquire:
    return Acquire(key=KEY, holder=holder, ttl_ms=TTL_MS)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def owner(clock: FakeClock) -> Owner:
    return Owner(clock)


def test_the_token_is_the_offset_of_the_acquiring_record(owner: Owner) -> None:
    assert owner.ask(acquire("a")) == [Leased(5)]
    assert owner.ask(Renew(key=KEY, token=5)) == [Leased(5)]
    assert owner.end == 7  # a renewal is a record, else a deposed owner could renew


def test_another_holder_is_denied_with_the_name_of_the_holder_and_the_time_left(
    owner: Owner, clock: FakeClock
) -> None:
    owner.ask(acquire("a"))
    clock.advance(seconds=4)
    assert owner.ask(acquire("b")) == [Denied("a", 6000)]
    assert owner.end == 6


def test_of_two_in_one_batch_one_gets_it(owner: Owner) -> None:
    assert owner.ask(acquire("a"), acquire("b"), acquire("a")) == [
        Leased(5),
        Denied("a", TTL_MS),
        Leased(5),
    ]


def test_a_lease_that_is_over_goes_to_the_next_with_a_greater_token(
    owner: Owner, clock: FakeClock
) -> None:
    (first,) = owner.ask(acquire("a"))
    clock.advance(seconds=10)
    (second,) = owner.ask(acquire("b"))
    assert second.token > first.token
    assert owner.ask(Renew(key=KEY, token=first.token)) == [Denied("b")]
    assert owner.ask(Release(key=KEY, token=first.token)) == [Denied("b")]


def test_renewals_keep_it(owner: Owner, clock: FakeClock) -> None:
    (leased,) = owner.ask(acquire("a"))
    for _ in range(5):
        clock.advance(seconds=9)
        assert owner.ask(Renew(key=KEY, token=leased.token)) == [leased]
    assert owner.ask(acquire("b")) == [Denied("a", TTL_MS)]


def test_a_released_lease_is_free_at_once(owner: Owner) -> None:
    (first,) = owner.ask(acquire("a"))
    assert owner.ask(Release(key=KEY, token=first.token), acquire("b")) == [first, Leased(7)]


def test_a_holder_that_acquires_its_lease_again_gets_the_same_token(owner: Owner) -> None:
    (first,) = owner.ask(acquire("a"))
    assert owner.ask(acquire("a")) == [first]


def test_a_new_owner_gives_every_lease_its_full_time(owner: Owner, clock: FakeClock) -> None:
    (leased,) = owner.ask(acquire("a"))
    clock.advance(seconds=9)
    successor = Owner(clock, owner)
    clock.advance(seconds=9)
    assert successor.ask(acquire("b")) == [Denied("a", 1000)]
    assert successor.ask(Renew(key=KEY, token=leased.token)) == [leased]


def test_a_renewed_lease_keeps_its_token_under_a_new_owner(owner: Owner, clock: FakeClock) -> None:
    (leased,) = owner.ask(acquire("a"))
    owner.ask(Renew(key=KEY, token=leased.token))
    assert Owner(clock, owner).ask(Renew(key=KEY, token=leased.token)) == [leased]


def test_the_row_of_a_lease_that_is_over_is_deleted(owner: Owner, clock: FakeClock) -> None:
    owner.ask(acquire("a"))
    assert owner.leases.next_end == clock.monotonic() + 10
    clock.advance(seconds=10)
    owner.ask()
    assert owner.rows == {}
    assert owner.leases.next_end == float("inf")


@pytest.mark.parametrize("ttl_ms", [0, 999, 86_400_001])
def test_a_lease_lasts_from_a_second_to_a_day(owner: Owner, ttl_ms: int) -> None:
    (refused,) = owner.ask(Acquire(key=KEY, holder="a", ttl_ms=ttl_ms))
    assert isinstance(refused, InvalidRecordError)


def test_a_key_that_holds_something_else_cannot_be_leased(owner: Owner, clock: FakeClock) -> None:
    owner.rows[KEY] = encode_row(3, 1, (), b"[1]")
    (refused,) = owner.ask(acquire("a"))
    assert isinstance(refused, InvalidRecordError)
    assert Owner(clock, owner).leases.next_end == float("inf")


def test_a_table_that_keeps_no_leases_refuses_them() -> None:
    draft = Draft(0, lambda _: None, 1)
    decided = decide([acquire("a"), Put(key=b"a", value=b"1")], draft, OPERATIONS, None)
    refused, _ = decided.answers([0])
    assert isinstance(refused, InvalidRecordError)
