"""What an answer of the leader means for a batch, and how long a fence is trusted."""

from __future__ import annotations

import pytest

from lastword.errors import (
    FencedError,
    IndeterminateError,
    InvalidRecordError,
    LastwordError,
    WriteFailedError,
)
from lastword.kafka.connection import Connection
from lastword.kafka.write.fenced import FenceNote
from lastword.kafka.write.fenced.idempotent_log import IdempotentLog
from lastword.kafka.write.fenced.sending import LeaderAnswer, NoAnswerError, NotSentError
from lastword.records import Write
from lastword.testing.fake_clock import FakeClock
from tests.support.shared_tables.scripted_wire import ScriptedWire, epoch_of, sequence_of

HOUR_S = 3600.0
CONNECTION = Connection(bootstrap_servers="localhost:9092")
LOST, UNSENT = NoAnswerError("cut"), NotSentError("no leader")
FENCED, OUT_OF_ORDER, NOT_LEADER = LeaderAnswer(47, -1), LeaderAnswer(45, -1), LeaderAnswer(6, -1)


class Lab:
    """A log on a scripted wire, taken over."""

    def __init__(self) -> None:
        self.wire, self.clock = ScriptedWire(), FakeClock()
        self.log = IdempotentLog(
            CONNECTION, "t", 0, "a:owner:t:0", clock=self.clock, make_wire=self.wire
        )
        self.log.take_over(FenceNote("one", 1))
        self.wire.batches.clear()

    def append(self, *values: bytes) -> list[int]:
        return self.log.append([Write(b"key", value) for value in values])


@pytest.fixture
def lab() -> Lab:
    return Lab()


def test_batches_follow_each_other_in_sequence(lab: Lab) -> None:
    assert lab.append(b"1", b"2", b"3") == [100, 101, 102]
    lab.append(b"4")
    assert [sequence_of(batch) for batch in lab.wire.batches] == [1, 4]  # 0 is the fence record


@pytest.mark.parametrize(
    "first", [LOST, UNSENT, NOT_LEADER, LeaderAnswer(7, -1), LeaderAnswer(19, -1)]
)
def test_a_batch_without_a_definite_answer_is_sent_again_as_it_is(
    lab: Lab, first: LeaderAnswer | Exception
) -> None:
    lab.wire.answers = [first, first, LeaderAnswer(0, 41)]
    assert lab.append(b"1") == [41]
    assert len(lab.wire.batches) == 3
    assert len(set(lab.wire.batches)) == 1


@pytest.mark.parametrize(
    ("answers", "error", "holds"),
    [
        ([FENCED], FencedError, False),
        ([LeaderAnswer(90, -1)], FencedError, False),
        ([UNSENT, FENCED], FencedError, False),
        ([LeaderAnswer(19, -1), FENCED], FencedError, False),
        ([LOST, FENCED], IndeterminateError, False),
        ([NOT_LEADER, FENCED], IndeterminateError, False),
        ([OUT_OF_ORDER], WriteFailedError, False),
        ([LOST, OUT_OF_ORDER], IndeterminateError, False),
        ([LeaderAnswer(46, -1)], IndeterminateError, False),
        ([LeaderAnswer(-1, -1)], IndeterminateError, False),
        ([LeaderAnswer(0, -1)], IndeterminateError, False),
        ([LeaderAnswer(10, -1)], InvalidRecordError, True),
        ([LeaderAnswer(87, -1)], InvalidRecordError, True),
        ([LOST, LeaderAnswer(10, -1)], IndeterminateError, False),
        ([LeaderAnswer(29, -1)], WriteFailedError, True),
    ],
)
def test_an_error_code_says_what_happened_to_the_batch(
    lab: Lab, answers: list[LeaderAnswer | Exception], error: type[LastwordError], holds: bool
) -> None:
    lab.wire.answers = answers
    with pytest.raises(error) as raised:
        lab.append(b"1")
    assert type(raised.value) is error
    assert raised.value.hint
    assert (lab.log.fence is not None) == holds


@pytest.mark.parametrize(
    ("answer", "error"), [(LOST, IndeterminateError), (UNSENT, WriteFailedError)]
)
def test_when_time_is_up_only_what_never_left_is_certain(
    lab: Lab, answer: Exception, error: type[LastwordError], monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_leader(deadline: float) -> None:
        lab.clock.advance(seconds=20)

    monkeypatch.setattr(lab.wire, "find_leader", find_leader)
    lab.wire.answers = [answer] * 9
    with pytest.raises(error):
        lab.append(b"1")
    assert len(lab.wire.batches) == 3


def test_a_batch_that_an_exception_interrupted_is_never_mistaken_for_another(lab: Lab) -> None:
    lab.wire.answers = [RuntimeError("interrupted")]
    with pytest.raises(RuntimeError):
        lab.append(b"1")
    with pytest.raises(WriteFailedError, match="not held"):
        lab.append(b"2")


def test_a_take_over_begins_a_new_sequence(lab: Lab) -> None:
    lab.append(b"1")
    epoch = epoch_of(lab.wire.batches[-1])
    lab.log.take_over(FenceNote("one", 2))
    assert (epoch_of(lab.wire.batches[-1]), sequence_of(lab.wire.batches[-1])) == (epoch + 1, 0)


def test_a_fence_is_renewed_when_it_is_six_hours_old(lab: Lab) -> None:
    before = lab.log.fence
    assert before is not None
    lab.clock.advance(seconds=6 * HOUR_S - 1)
    lab.log.renew()
    assert lab.log.fence == before
    lab.clock.advance(seconds=1)
    lab.log.renew()
    assert lab.wire.inits[-1] == (before.producer_id, before.epoch)
    assert lab.log.fence is not None
    assert lab.log.fence.epoch == before.epoch + 1
    assert sequence_of(lab.wire.batches[-1]) == 0
    lab.append(b"1")
    assert sequence_of(lab.wire.batches[-1]) == 1


def test_an_append_renews_an_old_fence_first(lab: Lab) -> None:
    lab.clock.advance(seconds=7 * HOUR_S)
    lab.append(b"1")
    assert len(lab.wire.batches) == 2  # the new fence record comes first


def test_a_fence_of_twelve_hours_is_not_trusted(lab: Lab) -> None:
    lab.clock.advance(seconds=12 * HOUR_S)
    with pytest.raises(FencedError, match="not renewed"):
        lab.append(b"1")
    assert lab.wire.batches == []
    assert lab.log.fence is None


def test_a_renewal_that_gives_another_producer_id_ends_the_fence(lab: Lab) -> None:
    lab.clock.advance(seconds=7 * HOUR_S)
    lab.wire.producer_id += 1
    with pytest.raises(FencedError):
        lab.append(b"1")
    assert lab.wire.batches == []
