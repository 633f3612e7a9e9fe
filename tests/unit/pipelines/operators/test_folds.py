from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.errors import ConfigError
from lastword.pipelines.api.folds import (
    BEFORE,
    Aggregate,
    Average,
    Count,
    Extreme,
    Field,
    Fold,
    Latest,
    Merge,
    Reduce,
    Sum,
    check_field,
    pick,
)

VALUES = [{"bpm": 70}, {"bpm": 90}, {"note": "no pulse"}, {"bpm": 80}]


@pytest.mark.parametrize(
    ("fold", "expected"),
    [
        (Count(), 4),
        (Sum("bpm"), 240),
        (Extreme("bpm", min), 70),
        (Extreme("bpm", max), 90),
        (Average("bpm"), {"avg": 80.0, "count": 3, "sum": 240}),
        (Latest(), {"bpm": 80}),
        (Merge(), {"bpm": 80, "note": "no pulse"}),
        (Reduce(lambda old, new: new if len(new) >= len(old) else old), {"bpm": 80}),
        (Aggregate(lambda: [], lambda key, value, seen: [*seen, key]), ["p"] * 4),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_fold_turns_the_values_of_a_key_into_one(fold: Fold, expected: Any) -> None:
    assert fold.apply("p", None, fold.inputs(VALUES))[0] == expected


@pytest.mark.parametrize("fold", [Count(), Latest()], ids=lambda each: type(each).__name__)
@given(st.lists(st.none() | st.integers(), min_size=1), st.none() | st.integers(0, 9))
def test_a_shortcut_over_many_values_gives_what_single_steps_give(
    fold: Fold, values: Sequence[int | None], old: int | None
) -> None:
    assert fold.apply("k", old, values) == Fold.apply(fold, "k", old, values)


FIELDS = st.none() | st.integers() | st.floats(allow_nan=False)


@pytest.mark.parametrize("field", ["bpm", itemgetter("bpm")], ids=["name", "function"])
@given(st.lists(FIELDS, max_size=6), FIELDS, st.booleans())
def test_a_sum_of_many_values_is_that_of_single_steps(
    field: Field, found: list[float | None], old: float | None, of_objects: bool
) -> None:
    values: list[Any] = [{"bpm": each} for each in found]
    if of_objects and isinstance(field, str):
        values += [SimpleNamespace(bpm=each) for each in found] + [{}]
    fold = Sum(field)
    # As text: two infinities may add up to NaN, which does not equal itself.
    folded = fold.apply("k", old, fold.inputs(values))
    assert repr(folded) == repr(Fold.apply(fold, "k", old, values))


def test_a_result_of_none_deletes_the_key_and_the_next_record_starts_again() -> None:
    leave = Reduce(lambda old, new: None if new == "checked-out" else new)
    assert leave.apply("p", None, ["in", "checked-out"]) == (None, 1)
    assert leave.apply("p", None, ["in", "checked-out", "in again"]) == ("in again", 2)


def test_the_first_value_of_a_reduction_is_kept_unchanged() -> None:
    assert Reduce(lambda old, new: old + new).apply("k", None, [5]) == (5, 0)


def test_an_aggregate_starts_from_its_initial_value_again_after_none() -> None:
    fold = Aggregate(lambda: 100, lambda key, value, total: None if value < 0 else total + value)
    assert fold.apply("k", None, [1, 2]) == (103, 0)
    assert fold.apply("k", 103, [-1, 5]) == (105, 1)
    assert fold.apply("k", 103, [5, 6]) == (114, BEFORE)


def test_a_record_without_a_value_deletes_from_the_latest_and_the_merged_state() -> None:
    assert Latest().apply("k", {"a": 1}, [None]) == (None, 0)
    assert Merge().apply("k", {"a": 1}, [None, {"b": 2}]) == ({"b": 2}, 1)


def test_only_objects_can_be_merged() -> None:
    with pytest.raises(TypeError, match="merge"):
        Merge().step("k", None, 3)


def test_a_field_is_a_name_or_a_function_and_may_be_missing() -> None:
    assert pick("a", {"a": 1}) == 1
    assert pick("a", {}) is None
    assert pick("a", None) is None
    assert pick(lambda value: value[0], [7]) == 7
    with pytest.raises(ConfigError, match="is not a field"):
        check_field(3)  # type: ignore[arg-type]
