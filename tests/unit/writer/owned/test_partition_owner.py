from __future__ import annotations

from collections.abc import Iterator
from math import inf

import pytest

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import (
    IndeterminateError,
    NotOwnerError,
    WriteFailedError,
)
from lastword.records import ABSENT, Version
from lastword.rows import value_of
from lastword.testing.waiting import wait_until
from lastword.writer.owned.requests import Applied, Conflicted, Current, Operate, Put, Read
from lastword.writer.owned.tickets import UnreadFenceError
from tests.support.shared_tables.owned_lab import OPERATIONS, PATIENT_S, OwnerLab, ask, submit

IMPATIENT_S = 0.2  # for answers that will not come


@pytest.fixture
def lab() -> Iterator[OwnerLab]:
    lab = OwnerLab()
    yield lab
    lab.close()


def increment(key: bytes) -> Operate:
    return Operate(key=key, operation="increment", argument=OPERATIONS.argument("increment", 1))


def test_a_put_is_answered_with_the_offset_of_its_record(lab: OwnerLab) -> None:
    owner = lab.own()
    (answer,) = ask(owner, Put(key=b"a", value=b"1"))
    assert isinstance(answer, Applied)
    assert lab.log.records[answer.version.offset].value == b"1"


def test_requests_that_wait_during_an_append_form_the_next_batch(lab: OwnerLab) -> None:
    owner = lab.own()
    log = lab.logs[0]
    log.gate.clear()
    first = submit(owner, increment(b"n"))
    wait_until(lambda: owner.waiting == 0, "the first request is being appended")
    rest = submit(owner, *[increment(b"n") for _ in range(50)])
    log.gate.set()
    assert all(isinstance(a, Applied) for a in first.wait(SYSTEM_CLOCK) + rest.wait(SYSTEM_CLOCK))
    assert log.batches == [1, 50]
    assert lab.log.values()[-1] == b"51"


def test_acknowledged_rows_are_served_before_the_local_copy_has_them(lab: OwnerLab) -> None:
    owner = lab.own()
    lab.local.held_at = lab.local.position()
    (applied,) = ask(owner, Put(key=b"a", value=b"1"))
    assert isinstance(applied, Applied)
    row = owner.row_now(b"a")
    assert row is not None
    assert row[0] == applied.row
    (again,) = ask(owner, Put(key=b"a", value=b"2", expected=applied.version))
    assert isinstance(again, Applied)
    (deleted,) = ask(owner, Put(key=b"a", value=None, expected=again.version))
    assert isinstance(deleted, Applied)
    assert owner.row_now(b"a") == (None,)
    assert isinstance(ask(owner, Put(key=b"a", value=b"3", expected=ABSENT))[0], Applied)


def test_a_deposed_owner_writes_nothing_and_answers_nothing(lab: OwnerLab) -> None:
    old = lab.own("old")
    ask(old, Put(key=b"a", value=b"1"))
    lab.logs[0].proven_at = -inf  # it slept past its read lease
    new = lab.own("new")
    assert isinstance(ask(new, Put(key=b"a", value=b"2"))[0], Applied)
    lab.named["old"] = None
    assert old.row_now(b"a") is None
    requests = [
        Put(key=b"a", value=b"3"),
        Put(key=b"a", value=b"3", expected=ABSENT),
        Read(key=b"a"),
    ]
    for request in requests:
        (answer,) = ask(old, request)
        assert isinstance(answer, NotOwnerError), request
    assert lab.log.values() == [b"1", b"2"]


def test_only_an_owner_that_can_prove_it_reports_a_conflict(lab: OwnerLab) -> None:
    owner = lab.own()
    ask(owner, Put(key=b"a", value=b"1"))
    lab.logs[0].proven_at = -inf
    fences = lab.log.fences()
    (answer,) = ask(owner, Put(key=b"a", value=b"2", expected=ABSENT))
    assert isinstance(answer, Conflicted)
    assert lab.log.fences() == fences + 1  # the proof
    assert lab.logs[0].batches == [1]


def test_a_read_within_the_lease_is_answered_at_once_and_a_later_one_proven(
    lab: OwnerLab,
) -> None:
    owner = lab.own()
    ask(owner, Put(key=b"a", value=b"1"))
    lab.logs[0].proven_at = inf
    fences = lab.log.fences()
    assert owner.row_now(b"a") is not None
    assert lab.log.fences() == fences
    lab.logs[0].proven_at = -inf
    assert owner.row_now(b"a") is None
    (answer,) = ask(owner, Read(key=b"a"))
    assert isinstance(answer, Current)
    assert answer.row is not None
    assert value_of(answer.row) == b"1"
    assert lab.log.fences() == fences + 1


def test_a_lost_answer_is_found_in_the_log(lab: OwnerLab) -> None:
    owner = lab.own()
    lab.logs[0].lose_answers = 1
    first, second = ask(owner, increment(b"n"), increment(b"n"))
    assert isinstance(first, Applied)
    assert isinstance(second, Applied)
    assert lab.log.values() == [b"1", b"2"]
    assert [first.version.offset, second.version.offset] == [1, 2]
    assert lab.log.fences() == 2
    assert isinstance(ask(owner, increment(b"n"))[0], Applied)
    assert lab.log.values()[-1] == b"3"


def test_a_lost_batch_is_written_again_once_it_is_sure_that_it_was_lost(lab: OwnerLab) -> None:
    owner = lab.own()
    lab.logs[0].lose_batches = 1
    (answer,) = ask(owner, increment(b"n"))
    assert isinstance(answer, Applied)
    assert lab.log.values() == [b"1"]
    assert answer.version == Version(0, 2)


def test_a_lost_answer_of_a_deposed_owner_is_decided_by_its_successors_fence(
    lab: OwnerLab,
) -> None:
    for lost, expected in (("answers", Applied), ("batches", NotOwnerError)):
        owner = lab.own(lost)
        log = lab.logs[-1]
        setattr(log, f"lose_{lost}", 1)
        log.gate.clear()
        waiting = submit(owner, Put(key=b"a", value=lost.encode()))
        wait_until(lambda owner=owner: owner.waiting == 0, "it is being appended")
        if lost == "batches":
            lab.own("successor")
            lab.named[lost] = None
            log.gate.set()
        else:
            lab.named[lost] = None
            log.gate.set()
            wait_until(lambda: b"answers" in lab.log.values(), "it is written")
            lab.own("successor")
        (answer,) = waiting.wait(SYSTEM_CLOCK)
        assert isinstance(answer, expected), lost
    assert lab.log.values() == [b"answers"]


def test_a_request_is_decided_only_under_a_fence_that_its_sender_has_read(lab: OwnerLab) -> None:
    """Else its sender may have taken a fence between two of this owner for the end of it."""
    owner = lab.own()
    fence = lab.log.fence_offsets()[-1]
    (early,) = submit(owner, increment(b"n"), position=fence).wait(SYSTEM_CLOCK)
    assert isinstance(early, UnreadFenceError)
    assert early.fence == fence
    (late,) = submit(owner, increment(b"n"), position=fence + 1).wait(SYSTEM_CLOCK)
    assert isinstance(late, Applied)
    lab.logs[0].lose_batches = 1
    (lost,) = submit(owner, increment(b"n"), position=fence + 1).wait(SYSTEM_CLOCK)
    assert isinstance(lost, UnreadFenceError), "it has taken over again meanwhile"
    assert lab.log.values() == [b"1"]


def test_without_a_verdict_the_outcome_is_indeterminate(lab: OwnerLab) -> None:
    owner = lab.own()
    lab.logs[0].lose_answers = 1
    lab.logs[0].gate.clear()
    waiting = submit(owner, Put(key=b"a", value=b"1"), timeout_s=IMPATIENT_S)
    wait_until(lambda: owner.waiting == 0, "it is being appended")
    (answer,) = waiting.wait(SYSTEM_CLOCK)
    assert isinstance(answer, IndeterminateError)
    assert not answer.retriable


def test_a_request_that_no_owner_claimed_in_time_is_certainly_not_written(
    lab: OwnerLab,
) -> None:
    owner = lab.own()
    lab.logs[0].gate.clear()
    first = submit(owner, Put(key=b"a", value=b"1"))
    wait_until(lambda: owner.waiting == 0, "the first is being appended")
    (answer,) = submit(owner, Put(key=b"a", value=b"2"), timeout_s=IMPATIENT_S).wait(SYSTEM_CLOCK)
    assert isinstance(answer, WriteFailedError)
    lab.logs[0].gate.set()
    assert isinstance(first.wait(SYSTEM_CLOCK)[0], Applied)
    assert isinstance(ask(owner, Read(key=b"a"))[0], Current)
    assert lab.log.values() == [b"1"]


def test_a_hand_over_finishes_the_batch_and_says_that_it_is_released(lab: OwnerLab) -> None:
    owner = lab.own()
    log = lab.logs[0]
    log.gate.clear()
    under_way = submit(owner, Put(key=b"a", value=b"1"))
    wait_until(lambda: owner.waiting == 0, "it is being appended")
    left = submit(owner, Put(key=b"a", value=b"2"))
    owner.stop(0.0)
    assert isinstance(left.wait(SYSTEM_CLOCK)[0], NotOwnerError)
    log.gate.set()
    assert isinstance(under_way.wait(SYSTEM_CLOCK)[0], Applied)
    owner.stop(PATIENT_S)
    assert lab.log.values() == [b"1"]
    assert b'"released":true' in (lab.log.records[-1].value or b"")
    with pytest.raises(NotOwnerError):
        submit(owner, Put(key=b"a", value=b"3"))


def test_a_renewed_fence_is_not_mistaken_for_a_successors(lab: OwnerLab) -> None:
    owner = lab.own()
    ask(owner, increment(b"n"))
    owner.renew_now()
    lab.logs[0].lose_answers = 1
    (answer,) = ask(owner, increment(b"n"))
    assert isinstance(answer, Applied)
    assert lab.log.values() == [b"1", b"2"]  # once, though its answer was lost
