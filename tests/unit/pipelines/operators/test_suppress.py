"""Windows that are held back: told once, when they close, with the value they had then."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.errors import PipelineError
from lastword.pipelines.api.folds import Count
from lastword.pipelines.api.windows import SessionWindows, TimeWindows, Windows
from lastword.pipelines.operators.make_fold import MakeFold
from tests.support.java_peers.streams_model import Event, SessionModel, WindowedModel
from tests.support.on_spark.folds import FOLDS, MERGES
from tests.support.on_spark.operator_run import CUTS, EVENTS, OperatorRun, as_json, last_values


def held_back(
    fold: Any, windows: Windows, retention_ms: int, *, at_most: int = 1_000
) -> OperatorRun:
    make = MakeFold(
        fold,
        "string",
        "json",
        windows=windows,
        retention_ms=retention_ms,
        hold_at_most=at_most,
    )
    return OperatorRun(make(), stores=2)


def check_against(model: WindowedModel | SessionModel, run: OperatorRun) -> None:
    """Every final window once, with the model's value; what expired is deleted after that."""
    told = [(row, value) for row, value in run.told if value is not None]
    assert len(dict(told)) == len(told), "a window was told twice"
    model._close()
    assert dict(told) == as_json(model.final)
    kept = {row: value for row, value in run.table.items() if row in model.final}
    assert last_values(run.told) == kept
    assert run.tally.final == len(told)


@pytest.mark.parametrize("name", FOLDS)
@given(
    events=EVENTS,
    cuts=CUTS,
    size_ms=st.integers(1, 12),
    overlap=st.integers(1, 3),
    grace_ms=st.integers(0, 8),
    kept_ms=st.integers(4, 40),
    lose_stores=st.booleans(),
)
def test_final_windows_are_those_of_the_model_after_any_failure(  # noqa: PLR0917
    name: str,
    events: list[Event],
    cuts: list[int],
    size_ms: int,
    overlap: int,
    grace_ms: int,
    kept_ms: int,
    lose_stores: bool,
) -> None:
    fold, step, _ = FOLDS[name]
    advance_ms, retention_ms = max(1, size_ms // overlap), size_ms + grace_ms + kept_ms
    model = WindowedModel(
        step, size_ms=size_ms, advance_ms=advance_ms, grace_ms=grace_ms, retention_ms=retention_ms
    )
    model.process(events)
    run = held_back(fold, TimeWindows(size_ms, advance_ms, grace_ms), retention_ms)
    run.in_batches(events, cuts, lose_stores=lose_stores)
    assert run.table == run.table_by_changelog == as_json(model.table)
    check_against(model, run)


@pytest.mark.parametrize("name", FOLDS)
@given(
    events=EVENTS,
    cuts=CUTS,
    gap_ms=st.integers(1, 12),
    grace_ms=st.integers(0, 8),
    kept_ms=st.integers(4, 40),
    lose_stores=st.booleans(),
)
def test_a_final_session_never_changes_and_never_grows_into_another(  # noqa: PLR0917
    name: str,
    events: list[Event],
    cuts: list[int],
    gap_ms: int,
    grace_ms: int,
    kept_ms: int,
    lose_stores: bool,
) -> None:
    fold, step, _ = FOLDS[name]
    retention_ms = gap_ms + grace_ms + kept_ms
    model = SessionModel(step, MERGES[name], gap_ms, grace_ms, retention_ms, suppressed=True)
    model.process(events)
    run = held_back(fold, SessionWindows(gap_ms, grace_ms), retention_ms)
    run.in_batches(events, cuts, lose_stores=lose_stores)
    assert run.table == run.table_by_changelog == as_json(model.table)
    check_against(model, run)


def test_pulses_are_emitted_once_their_minute_and_its_grace_are_over() -> None:
    run = held_back(Count(), TimeWindows(60_000, 60_000, 5_000), 21_600_000)
    run.process([Event(b"p", 1, 1_000), Event(b"p", 1, 59_000), Event(b"p", 1, 64_999)])
    assert run.told == []
    assert run.tally.held_back == 2
    run.process([Event(b"p", 1, 59_999), Event(b"p", 1, 65_000)])
    assert run.told == [(b"p" + bytes(8), b"3")]
    run.process([Event(b"p", 1, 59_999)])
    assert len(run.told) == 1
    assert run.tally.late == 1


def test_more_open_windows_than_allowed_stop_the_pipeline() -> None:
    run = held_back(Count(), TimeWindows(10, 10, 0), 100, at_most=2)
    run.process([Event(b"a", 1, 1), Event(b"b", 1, 2)])
    with pytest.raises(PipelineError, match=r"3 windows .* are open, more than the limit of 2"):
        run.process([Event(b"c", 1, 3)])
    run.process([Event(b"c", 1, 11)])
    assert [row for row, _ in run.told] == [b"a" + bytes(8), b"b" + bytes(8)]


def test_windows_that_were_open_before_suppress_are_emitted_too() -> None:
    windows = TimeWindows(10, 10, 0)
    plain = OperatorRun(MakeFold(Count(), "string", "json", windows=windows, retention_ms=100)())
    plain.process([Event(b"a", 1, 1), Event(b"a", 1, 11)])
    run = held_back(Count(), windows, 100)
    run.stores[0], run.stream_time_ms = plain.stores[0], plain.stream_time_ms
    run.process([Event(b"b", 1, 20)])
    assert run.told == [(b"a" + (10).to_bytes(8, "big"), b"1")]
