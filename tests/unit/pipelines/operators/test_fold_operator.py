"""The operator against a plain model of Kafka Streams, for any input and any cut into batches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.pipelines.api.folds import Count, Fold, Latest, Reduce
from lastword.pipelines.api.windows import TimeWindows
from lastword.pipelines.operators.fold_operator import FoldOperator
from lastword.pipelines.operators.state_view import StateView
from lastword.pipelines.operators.window_operator import WindowOperator
from lastword.records import NO_HEADERS, Headers
from tests.support.java_peers.streams_model import Event, StreamsModel, WindowedModel
from tests.support.on_spark.folds import FOLDS
from tests.support.on_spark.operator_run import CUTS, EVENTS, as_json
from tests.support.on_spark.operator_run import OperatorRun as Run


def windowed(fold: Fold, windows: TimeWindows, retention_ms: int) -> WindowOperator:
    folding = FoldOperator(fold, key="bytes", value="json", windows=windows)
    return WindowOperator(folding, windows, retention_ms)


@pytest.mark.parametrize("name", FOLDS)
@given(events=EVENTS, cuts=CUTS, every_update=st.booleans())
def test_a_fold_equals_kafka_streams_for_every_batch_size(
    name: str, events: list[Event], cuts: list[int], every_update: bool
) -> None:
    fold, step, takes_nulls = FOLDS[name]
    model = StreamsModel(step, takes_nulls)
    model.process(events)
    operator = FoldOperator(fold, key="bytes", value="json", every_update=every_update)
    run = Run(operator, every_update=every_update)
    run.in_batches(events, cuts)
    assert run.table == run.table_by_changelog == as_json(model.table)
    assert (run.tally.keyless, run.tally.null_values) == (model.keyless, model.null_values)
    assert not run.bad


@pytest.mark.parametrize("name", FOLDS)
@given(
    events=EVENTS,
    cuts=CUTS,
    size_ms=st.integers(1, 12),
    overlap=st.integers(1, 3),
    grace_ms=st.integers(0, 8),
    kept_ms=st.integers(4, 40),
)
def test_windows_end_like_kafka_streams_with_every_late_record_counted(  # noqa: PLR0917
    name: str,
    events: list[Event],
    cuts: list[int],
    size_ms: int,
    overlap: int,
    grace_ms: int,
    kept_ms: int,
) -> None:
    fold, step, _ = FOLDS[name]
    advance_ms = max(1, size_ms // overlap)
    retention_ms = size_ms + grace_ms + kept_ms
    model = WindowedModel(
        step,
        size_ms=size_ms,
        advance_ms=advance_ms,
        grace_ms=grace_ms,
        retention_ms=retention_ms,
    )
    model.process(events)
    run = Run(windowed(fold, TimeWindows(size_ms, advance_ms, grace_ms), retention_ms))
    run.in_batches(events, cuts)
    assert run.table == run.table_by_changelog == as_json(model.table)
    assert (run.tally.late, run.tally.keyless) == (model.late, model.keyless)
    assert run.stream_time_ms == model.stream_time_ms


@pytest.mark.parametrize("windows", [None, TimeWindows(10, 5, 3)], ids=["keys", "windows"])
@given(events=EVENTS, cuts=CUTS, every_update=st.booleans())
def test_counts_in_columns_equal_counts_one_by_one(
    windows: TimeWindows | None, events: list[Event], cuts: list[int], every_update: bool
) -> None:
    in_columns, one_by_one = (
        Run(
            FoldOperator(
                Count(), key="bytes", value=value, windows=windows, every_update=every_update
            ),
            every_update=every_update,
        )
        for value in ("int64", "json")
    )
    for run in (in_columns, one_by_one):
        run.in_batches(events, cuts)
    assert [
        (key, str(int.from_bytes(value or b"", "big")).encode(), at_ms, headers)
        for key, value, at_ms, headers in in_columns.changelog
    ] == one_by_one.changelog
    assert in_columns.tally == one_by_one.tally
    assert in_columns.table.keys() == one_by_one.table.keys()


@pytest.mark.parametrize("headers", [(), (("h", b"1"),)])
def test_a_count_continues_from_a_row_of_another_form(headers: Headers) -> None:
    run = Run(FoldOperator(Count(), key="bytes", value="int64"))
    view = StateView(run.stores[0], every_update=False)
    view.put(b"k", (41).to_bytes(8, "big"), 9, headers)
    view.commit(b"checkpoint", 1)
    run.process([Event(b"k", 1, 5), Event(b"new", 1, 6)])
    assert run.changelog == [
        (b"k", (42).to_bytes(8, "big"), 9, NO_HEADERS),
        (b"new", (1).to_bytes(8, "big"), 6, NO_HEADERS),
    ]


def test_a_pulse_that_comes_after_the_grace_is_late_and_one_within_it_counts() -> None:
    run = Run(windowed(Count(), TimeWindows(60_000, 60_000, 5_000), 21_600_000))
    run.process([Event(b"p", 1, 59_000), Event(b"p", 1, 64_999), Event(b"p", 1, 59_999)])
    run.process([Event(b"p", 1, 65_000), Event(b"p", 1, 59_999)])
    first, second = bytes(8), (60_000).to_bytes(8, "big")
    assert run.table == {b"p" + first: b"2", b"p" + second: b"2"}
    assert run.tally.late == 1


def test_a_closed_window_past_its_retention_leaves_state_and_changelog() -> None:
    run = Run(windowed(Count(), TimeWindows(10, 10, 0), 40))
    run.process([Event(b"p", 1, 5)])
    run.process([Event(b"p", 1, 49)])
    assert len(run.table) == 2
    run.process([Event(b"p", 1, 50)])
    assert bytes(8) not in {row[-8:] for row in run.table}
    assert (b"p" + bytes(8), None, 50, NO_HEADERS) in run.changelog


def test_a_record_for_which_the_function_fails_is_quarantined_and_the_others_continue() -> None:
    def strict(old: dict[str, int], new: dict[str, int]) -> dict[str, int]:
        old["n"] += 1  # even one that changes its argument before it fails
        return {"n": old["n"] + new["n"] - 1}

    run = Run(FoldOperator(Reduce(strict), key="string", value="json"))
    run.process([Event(b"k", {"n": 1}, 1)])
    run.process([Event(b"k", {"n": 2}, 2), Event(b"k", {}, 3), Event(b"k", {"n": 4}, 4)])
    assert run.table == {b"k": b'{"n":7}'}
    assert run.bad == ["KeyError: 'n'"]
    assert run.tally.quarantined == 1


@pytest.mark.parametrize("fails", [False, True])
def test_a_function_may_change_the_state_it_was_given(fails: bool) -> None:
    def absorb(old: dict[str, int], new: dict[str, int]) -> dict[str, int]:
        old["n"] += new["n"]
        return old

    numbers = [{"n": 1}, {"n": 2}, *([{}] if fails else []), {"n": 4}]
    run = Run(FoldOperator(Reduce(absorb), key="string", value="json"))
    run.process([Event(b"k", number, at_ms) for at_ms, number in enumerate(numbers)])
    assert run.table == {b"k": b'{"n":7}'}
    assert numbers[0] == {"n": 1}  # other branches see it, too


def test_a_result_that_cannot_be_written_is_quarantined() -> None:
    run = Run(FoldOperator(Reduce(lambda old, new: object()), key="string", value="json"))
    run.process([Event(b"k", 1, 1), Event(b"k", 2, 2)])
    assert run.table == {b"k": b"1"}
    assert run.tally.quarantined == 1


def test_a_key_that_cannot_be_read_is_quarantined() -> None:
    run = Run(FoldOperator(Count(), key="string", value="json"))
    run.process([Event(b"\xff", 1, 1), Event(b"k", 1, 2)])
    assert run.table == {b"k": b"1"}
    assert run.tally.quarantined == 1


def test_a_key_that_is_absent_and_stays_absent_writes_no_tombstone() -> None:
    run = Run(FoldOperator(Latest(), key="string", value="json"))
    run.process([Event(b"k", None, 1)])
    assert run.changelog == []


def test_without_the_cache_every_update_reaches_the_changelog() -> None:
    events = [Event(b"k", 1, 1), Event(b"k", 1, 2), Event(b"k", 1, 3)]
    cached = Run(FoldOperator(Count(), key="string", value="json"))
    uncached = Run(
        FoldOperator(Count(), key="string", value="json", every_update=True), every_update=True
    )
    for run in (cached, uncached):
        run.process(events)
    assert [value for _, value, _, _ in cached.changelog] == [b"3"]
    assert [value for _, value, _, _ in uncached.changelog] == [b"1", b"2", b"3"]
