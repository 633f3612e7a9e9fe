"""Sessions against a plain model of Kafka Streams, and by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.codecs.windowed import SessionKey, session
from lastword.pipelines.api.folds import Average, Count, Extreme, Fold, Merge, Reduce, Sum
from lastword.pipelines.api.windows import SessionWindows
from lastword.pipelines.operators.session_operator import SessionOperator
from lastword.pipelines.operators.window_operator import WindowOperator
from tests.support.java_peers.streams_model import Event, SessionModel
from tests.support.on_spark.folds import FOLDS, MERGES
from tests.support.on_spark.operator_run import CUTS, EVENTS, OperatorRun, as_json

MINUTE_MS = 60_000
DAY_MS = 86_400_000


def sessions(
    fold: Fold,
    gap_ms: int,
    grace_ms: int = 0,
    retention_ms: int = DAY_MS,
    *,
    every_update: bool = False,
) -> OperatorRun:
    windows = SessionWindows(gap_ms, grace_ms)
    folding = SessionOperator(
        fold,
        key="string",
        value="json",
        windows=windows,
        reach_ms=retention_ms,
        every_update=every_update,
    )
    return OperatorRun(WindowOperator(folding, windows, retention_ms), every_update=every_update)


@pytest.mark.parametrize("name", FOLDS)
@given(
    events=EVENTS,
    cuts=CUTS,
    gap_ms=st.integers(1, 12),
    grace_ms=st.integers(0, 8),
    kept_ms=st.integers(4, 40),
    every_update=st.booleans(),
    lose_stores=st.booleans(),
)
def test_sessions_equal_kafka_streams_for_every_batch_size(  # noqa: PLR0917
    name: str,
    events: list[Event],
    cuts: list[int],
    gap_ms: int,
    grace_ms: int,
    kept_ms: int,
    every_update: bool,
    lose_stores: bool,
) -> None:
    fold, step, _ = FOLDS[name]
    retention_ms = gap_ms + grace_ms + kept_ms
    model = SessionModel(step, MERGES[name], gap_ms, grace_ms, retention_ms)
    model.process(events)
    run = sessions(fold, gap_ms, grace_ms, retention_ms, every_update=every_update)
    run.in_batches(events, cuts, lose_stores=lose_stores)
    assert run.table == run.table_by_changelog == as_json(model.table)
    assert (run.tally.late, run.tally.keyless) == (model.late, model.keyless)
    assert run.stream_time_ms == model.stream_time_ms
    assert not run.bad


def rows(run: OperatorRun) -> dict[SessionKey, bytes]:
    codec = session("string")
    return {codec.decode(row): value for row, value in run.table.items()}


def test_a_record_between_two_sessions_makes_them_one_and_deletes_both() -> None:
    run = sessions(Count(), 5 * MINUTE_MS, grace_ms=5 * MINUTE_MS)
    run.process([Event(b"p", 1, 0), Event(b"p", 1, 8 * MINUTE_MS)])
    assert rows(run) == {
        SessionKey("p", 0, 0): b"1",
        SessionKey("p", 8 * MINUTE_MS, 8 * MINUTE_MS): b"1",
    }
    run.process([Event(b"p", 1, 4 * MINUTE_MS)])
    assert rows(run) == {SessionKey("p", 0, 8 * MINUTE_MS): b"3"}
    assert [value for _, value, _, _ in run.changelog[-3:]] == [None, None, b"3"]


def test_the_gap_itself_still_joins_and_a_millisecond_more_does_not() -> None:
    run = sessions(Count(), 10)
    run.process([Event(b"p", 1, 0), Event(b"p", 1, 10), Event(b"p", 1, 21)])
    assert rows(run) == {SessionKey("p", 0, 10): b"2", SessionKey("p", 21, 21): b"1"}


def test_a_record_is_late_when_gap_and_grace_have_passed_its_session() -> None:
    run = sessions(Count(), 10, grace_ms=5)
    run.process([Event(b"p", 1, 0), Event(b"q", 1, 15), Event(b"p", 1, 0)])
    assert run.tally.late == 0
    run.process([Event(b"q", 1, 16), Event(b"p", 1, 0)])
    assert run.tally.late == 1
    assert rows(run)[SessionKey("p", 0, 0)] == b"2"


def test_a_key_that_begins_like_another_has_sessions_of_its_own() -> None:
    run = sessions(Count(), 10, retention_ms=10**12)
    longer = b"p" + (3).to_bytes(8, "big") + b"x"
    run.process([Event(b"p", 1, 1), Event(longer, 1, 2), Event(b"p", 1, 4)])
    run.process([Event(longer, 1, 5), Event(b"p", 1, 6)])
    assert sorted(rows(run).values()) == [b"2", b"3"]


@pytest.mark.parametrize(
    ("fold", "expected"),
    [
        (Sum("n"), b"6"),
        (Extreme("n", max), b"3"),
        (Average("n"), b'{"avg":2.0,"count":3,"sum":6}'),
        (Merge(), b'{"n":2}'),
        (Reduce(lambda old, new: {"n": old["n"] * 10 + new["n"]}), b'{"n":132}'),
    ],
    ids=lambda each: type(each).__name__,
)
def test_every_fold_can_merge_sessions(fold: Fold, expected: bytes) -> None:
    run = sessions(fold, 10, grace_ms=10)
    run.process([Event(b"p", {"n": 1}, 0), Event(b"p", {"n": 3}, 20), Event(b"p", {"n": 2}, 10)])
    assert rows(run) == {SessionKey("p", 0, 20): expected}


def test_a_record_on_which_a_function_fails_leaves_the_sessions_as_they_were() -> None:
    run = sessions(Sum("n"), 10)
    run.process([Event(b"p", {"n": 1}, 0), Event(b"p", {"n": "x"}, 5), Event(b"\xff", {}, 5)])
    assert rows(run) == {SessionKey("p", 0, 0): b"1"}
    assert run.tally.quarantined == 2
