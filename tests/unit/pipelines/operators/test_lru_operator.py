"""A store of fixed size against a model of Kafka Streams' lruMap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.pipelines.api.folds import Count, Sum
from lastword.pipelines.operators.lru_operator import LruOperator
from tests.support.java_peers.streams_model import Event, LruModel
from tests.support.on_spark.folds import FOLDS
from tests.support.on_spark.operator_run import CUTS, VALUES, OperatorRun, as_json

KEYS = st.sampled_from([b"a", b"b", b"c", b"d", b"e", b"", None])
EVENTS = st.lists(st.builds(Event, KEYS, VALUES, st.integers(1, 80)), max_size=60)


@pytest.mark.parametrize("name", FOLDS)
@given(
    events=EVENTS,
    cuts=CUTS,
    capacity=st.integers(1, 4),
    every_update=st.booleans(),
    lose_stores=st.booleans(),
)
def test_the_same_keys_are_evicted_for_every_batch_size(  # noqa: PLR0917
    name: str,
    events: list[Event],
    cuts: list[int],
    capacity: int,
    every_update: bool,
    lose_stores: bool,
) -> None:
    fold, step, takes_nulls = FOLDS[name]
    model = LruModel(step, capacity, takes_nulls)
    model.process(events)
    operator = LruOperator(
        fold, key="string", value="json", capacity=capacity, every_update=every_update
    )
    run = OperatorRun(operator, every_update=every_update)
    run.in_batches(events, cuts, lose_stores=lose_stores)
    assert run.table == run.table_by_changelog == as_json(model.table)
    assert run.tally.evicted == model.evicted


def test_the_least_recently_used_patient_is_evicted_with_a_tombstone_and_starts_again() -> None:
    run = OperatorRun(LruOperator(Count(), key="string", value="json", capacity=2))
    run.process([Event(b"a", 1, 1), Event(b"b", 1, 2), Event(b"a", 1, 3)])
    run.process([Event(b"c", 1, 4)])
    assert run.table == {b"a": b"2", b"c": b"1"}
    assert run.changelog[-2][:2] == (b"b", None)
    run.process([Event(b"b", 1, 5)])
    assert run.table == {b"c": b"1", b"b": b"1"}


def test_a_record_on_which_the_function_fails_uses_no_key() -> None:
    run = OperatorRun(LruOperator(Sum("n"), key="string", value="json", capacity=2))
    run.process([Event(b"a", {"n": 1}, 1), Event(b"b", {"n": 1}, 2), Event(b"a", {"n": "x"}, 3)])
    run.process([Event(b"c", {"n": 1}, 4)])
    assert run.table == {b"b": b"1", b"c": b"1"}
    assert run.tally.quarantined == 1
