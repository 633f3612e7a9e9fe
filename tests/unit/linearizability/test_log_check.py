"""The checker of histories finds what cannot have been, and nothing else."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.linearizability.history import Recorder, read_history
from tests.support.linearizability.log_check import fold
from tests.support.linearizability.stories import Story, put, simulate, transact


def test_what_one_client_does_after_the_other_is_fine() -> None:
    story = Story()
    story.did("read", 0, 1)
    first = put(story, "a", 2, 3)
    story.did("read", 4, 5, version=first, result="a")
    second = story.logged("b")
    story.did("cas", 6, 7, value="b", expected=first, version=second)
    story.did("cas", 8, 9, "conflict", value="c", expected=first, version=second, result="b")
    story.did("delete", 10, 11, version=story.logged(None))
    story.did("read", 12, 13)
    story.did("cas", 14, 15, value="d", expected=None, version=story.logged("d"))
    assert story.wrong() == []
    assert fold(story.log) == {"k": "d"}


def test_operations_that_overlap_may_stand_in_either_order() -> None:
    story = Story()
    late = story.logged("late")
    early = story.logged("early")
    story.did("put", 0, 100, value="early", version=early)
    story.did("put", 50, 150, value="late", version=late)
    story.did("read", 60, 200, version=late, result="late")
    story.did("read", 0, 40)
    assert story.wrong() == []


def test_an_unknown_write_may_be_there_later_or_not_at_all() -> None:
    story = Story()
    story.did("put", 0, None, "unknown", value="lost")
    story.did("put", 1, None, "unknown", value="late")
    put(story, "a", 2, 3)
    story.did("read", 1000, 1001, version=story.logged("late"), result="late")
    story.did("increment", 5, None, "unknown", value=1)
    assert story.wrong() == []


def test_named_operations_build_on_the_value_before_them() -> None:
    story = Story()
    story.did("increment", 0, 1, value=2, version=story.logged(2), result=2)
    story.logged(5)
    story.did("increment", 2, None, "unknown", value=3)
    story.did("increment", 3, 9, value=1, version=story.logged(6), result=6)
    assert story.wrong() == []


def test_merges_and_greater_values_build_on_the_value_before_them() -> None:
    story = Story()
    story.did("merge", 0, 1, value={"a": 1}, version=story.logged({"a": 1}), result={"a": 1})
    after = {"a": 1, "b": 2}
    story.did("merge", 2, 3, value={"b": 2}, version=story.logged(after), result=after)
    numbers = {"key": "g"}
    greater = story.logged(5, "g")
    story.did("put_if_greater", 4, 5, value=5, version=greater, result=5, **numbers)
    story.did("put_if_greater", 6, 7, value=3, version=greater, result=5, **numbers)
    story.did("put_if_greater", 8, None, "unknown", value=4, **numbers)
    story.did("put_if_greater", 8, None, "unknown", value=6, **numbers)
    story.did("read", 9, 10, version=story.logged(6, "g"), result=6, **numbers)
    assert story.wrong() == []


def test_transactions_write_both_keys_of_a_pair_or_none() -> None:
    story = Story()
    first, second = transact(story, "a", 0, 1)
    story.did("read", 2, 3, key="k/second", version=second, result="a")
    again = transact(story, "b", 4, 5, expected=first)[0]
    conflict = {"expected": first, "version": again, "result": "b"}
    story.did("transact", 6, 7, "conflict", value="c", **conflict)
    story.did("transact", 6, None, "unknown", value="lost", expected=again)
    story.did("transact", 6, None, "unknown", value="late", expected=again)
    story.logged("late", "k/first")
    story.logged("late", "k/second")
    assert story.wrong() == []


# -- planted violations -------------------------------------------------------------------------


def test_an_acknowledged_write_that_is_missing_is_found() -> None:
    story = Story()
    story.did("put", 0, 1, value="a", version="0:7")
    assert story.wrong() == ["an acknowledged write is not in the log"]


def test_an_acknowledged_write_with_another_value_is_found() -> None:
    story = Story()
    story.did("put", 0, 1, value="a", version=story.logged("b"))
    assert "an acknowledged write has another value" in story.wrong()


def test_one_record_for_two_acknowledged_writes_is_found() -> None:
    story = Story()
    version = put(story, "a", 0, 1)
    story.did("put", 0, 1, value="a", version=version)
    assert story.wrong() == ["two writes were told the same version"]


def test_a_write_that_is_there_twice_is_found() -> None:
    story = Story()
    put(story, "a", 0, 1)
    story.logged("a")
    assert story.wrong() == ["nobody asked for this record"]


def test_an_unknown_write_that_is_there_twice_is_found() -> None:
    story = Story()
    story.did("put", 0, None, "unknown", value="a")
    story.logged("a")
    story.logged("a")
    assert story.wrong() == ["nobody asked for this record"]


def test_a_request_that_was_applied_twice_is_found() -> None:
    """The values alone would be right: one of two increments was applied twice, the other not."""
    story = Story()
    for _ in range(2):
        story.did("increment", 0, None, "unknown", value=1)
    story.logged(1, request=b"the first")
    story.logged(2, request=b"the first")
    assert story.wrong() == ["a request was applied twice"]


def test_a_transaction_that_was_applied_in_part_is_found() -> None:
    story = Story()
    transact(story, "a", 0, 1)
    story.did("transact", 2, None, "unknown", value="b", expected="0:0")
    story.logged("b", "k/first")
    assert story.wrong() == ["a transaction was applied in part"]


def test_transactions_that_were_mixed_are_found() -> None:
    story = Story()
    for value in "ab":
        story.did("transact", 0, None, "unknown", value=value, expected="0:0")
    for value, key in ("a", "k/first"), ("b", "k/second"), ("a", "k/second"), ("b", "k/first"):
        story.logged(value, key)
    assert "a transaction was applied in part" in story.wrong()


def test_a_transaction_whose_condition_did_not_hold_is_found() -> None:
    story = Story()
    first = transact(story, "a", 0, 1)[0]
    transact(story, "b", 2, 3, expected=first)
    transact(story, "c", 4, 5, expected=first)
    assert story.wrong() == ["a condition did not hold"]


def test_a_read_of_half_a_transaction_is_found() -> None:
    story = Story()
    first, second = transact(story, "a", 0, 1)
    transact(story, "b", 2, 3, expected=first)
    story.did("read", 4, 5, key="k/second", version=second, result="a")
    assert len(story.wrong()) == 1
    assert "but stands before it" in story.wrong()[0]


def test_a_value_that_is_not_greater_and_was_written_is_found() -> None:
    story = Story()
    story.did("put_if_greater", 0, 1, value=5, version=story.logged(5), result=5)
    story.did("put_if_greater", 2, 3, value=4, version=story.logged(4), result=4)
    assert story.wrong() == ["an operation was not applied to the value before it"]


def test_a_greater_value_that_was_refused_is_found() -> None:
    story = Story()
    five = story.logged(5)
    story.did("put_if_greater", 0, 1, value=5, version=five, result=5)
    story.did("put_if_greater", 2, 3, value=6, version=five, result=5)
    assert story.wrong() == ["a greater value was refused"]


def test_a_merge_that_loses_a_field_is_found() -> None:
    story = Story()
    story.did("merge", 0, 1, value={"a": 1}, version=story.logged({"a": 1}), result={"a": 1})
    story.did("merge", 2, 3, value={"b": 2}, version=story.logged({"b": 2}), result={"b": 2})
    assert story.wrong() == ["an operation was not applied to the value before it"]


def test_a_write_that_failed_for_certain_and_is_there_is_found() -> None:
    story = Story()
    story.did("put", 0, 1, "failed", value="a")
    story.logged("a")
    assert story.wrong() == ["nobody asked for this record"]


def test_a_condition_that_did_not_hold_is_found() -> None:
    story = Story()
    first = put(story, "a", 0, 1)
    put(story, "b", 2, 3)
    story.did("cas", 4, 5, value="c", expected=first, version=story.logged("c"))
    assert story.wrong() == ["a condition did not hold"]


def test_a_condition_of_an_unknown_write_is_checked_too() -> None:
    story = Story()
    put(story, "a", 0, 1)
    story.did("cas", 0, None, "unknown", value="b", expected=None)
    story.logged("b")
    assert story.wrong() == ["a condition did not hold"]


def test_a_condition_that_held_and_was_refused_is_found() -> None:
    story = Story()
    first = put(story, "a", 0, 1)
    story.did("cas", 2, 3, "conflict", value="b", expected=first, version=first, result="a")
    assert story.wrong() == ["a condition that held was refused"]
    empty = Story()
    empty.did("cas", 2, 3, "conflict", value="b", expected=None)
    assert empty.wrong() == ["a condition that held was refused"]


def test_a_lost_update_is_found() -> None:
    story = Story()
    story.did("increment", 0, 9, value=1, version=story.logged(1), result=1)
    story.did("increment", 0, 9, value=1, version=story.logged(1), result=1)
    assert story.wrong() == ["an operation was not applied to the value before it"]


def test_a_read_of_an_old_value_is_found() -> None:
    story = Story()
    first = put(story, "a", 0, 1)
    put(story, "b", 2, 3)
    story.did("read", 4, 5, version=first, result="a")
    assert len(story.wrong()) == 1
    assert "began after op-1 had ended, but stands before it" in story.wrong()[0]


def test_a_read_that_is_older_than_a_read_before_it_is_found() -> None:
    """The write is unknown, so only the first read shows that it had happened."""
    story = Story()
    first = put(story, "a", 0, 1)
    story.did("put", 2, None, "unknown", value="b")
    second = story.logged("b")
    story.did("read", 3, 4, version=second, result="b")
    story.did("read", 5, 6, version=first, result="a")
    assert len(story.wrong()) == 1


def test_a_read_of_a_write_that_had_not_begun_is_found() -> None:
    story = Story()
    version = story.logged("a")
    story.did("read", 0, 1, version=version, result="a")
    story.did("put", 2, 3, value="a", version=version)
    assert len(story.wrong()) == 1


def test_a_write_ordered_before_an_earlier_one_is_found() -> None:
    story = Story()
    zombie = story.logged("zombie")
    put(story, "new", 0, 1)
    story.did("put", 2, 3, value="zombie", version=zombie)
    assert len(story.wrong()) == 1


def test_a_key_that_is_seen_absent_while_it_is_there_is_found() -> None:
    story = Story()
    put(story, "a", 0, 1)
    story.did("read", 2, 3)
    assert story.wrong() == ["a key was seen absent that was there"]


def test_a_delete_that_comes_back_is_found() -> None:
    story = Story()
    first = put(story, "a", 0, 1)
    story.did("delete", 2, 3, version=story.logged(None))
    story.did("read", 4, 5, version=first, result="a")
    assert len(story.wrong()) == 1


def test_a_value_of_another_version_is_found() -> None:
    story = Story()
    story.did("read", 2, 3, version=put(story, "a", 0, 1), result="b")
    assert story.wrong() == ["a value was seen that its version does not have"]


def test_a_version_that_is_not_in_the_log_is_found() -> None:
    story = Story()
    story.did("read", 2, 3, version="0:9", result="a")
    assert story.wrong() == ["a version was seen that is not in the log"]


@pytest.mark.parametrize("seed", range(20))
def test_random_histories_of_a_true_register_are_fine_and_a_changed_one_is_not(seed: int) -> None:
    dice = random.Random(seed)
    story = simulate(dice, 200)
    assert story.wrong() == []
    told = {o.version: o for o in story.history if o.kind != "read" and o.status == "ok"}
    pairs = [
        i
        for i, (one, two) in enumerate(pairwise(story.log))
        if str(one.version) in told and one.value != two.value
    ]
    swapped = dice.choice(pairs)
    one, two = story.log[swapped : swapped + 2]
    story.log[swapped] = one._replace(value=two.value)
    story.log[swapped + 1] = two._replace(value=one.value)
    assert story.wrong() != []


# -- the recorder -------------------------------------------------------------------------------


def test_a_history_is_read_back_as_it_was_recorded(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "one", "p1")
    put_it = recorder.begin("put", "k", value={"n": 1})
    lost = recorder.begin("cas", "k", value="b", expected="0:0", expected_value={"n": 1})
    recorder.end(put_it, "ok", version="0:0")
    gave_up = recorder.begin("increment", "c", value=1)
    recorder.end(gave_up, "unknown", error="IndeterminateError")
    with (tmp_path / "one").open("ab") as file:
        file.write(b'{"id":"p1-9","ki')  # a process that was killed while it wrote
    first, second, third = read_history([tmp_path / "one"])
    assert (first.id, first.status, first.version, first.value) == ("p1-0", "ok", "0:0", {"n": 1})
    assert first.invoked_ns < second.invoked_ns < first.completed_ns < third.invoked_ns
    assert (second.id, second.status, second.completed_ns) == (lost.id, "unknown", 2**63 - 1)
    assert (third.status, third.completed_ns, third.error) == (
        "unknown",
        2**63 - 1,
        "IndeterminateError",
    )
