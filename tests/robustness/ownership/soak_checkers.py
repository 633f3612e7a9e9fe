"""Planted violations for porcupine, as those for the checker by the log. Run by `make soak`."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support.linearizability.porcupine import build_porcupine, check_porcupine
from tests.support.linearizability.stories import Story, put, simulate, transact

ILLEGAL = {"k": "Illegal"}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_porcupine(tmp_path_factory.mktemp("go"))


@pytest.mark.parametrize("seed", range(10))
def test_histories_of_a_true_register_are_fine(program: Path, seed: int) -> None:
    story = simulate(random.Random(seed), 200)
    assert check_porcupine(program, story.history) == {}


def test_a_read_of_an_old_value_is_found(program: Path) -> None:
    story = Story()
    put(story, "a", 0, 1)
    put(story, "b", 2, 3)
    story.did("read", 4, 5, result="a")
    assert check_porcupine(program, story.history) == ILLEGAL


def test_a_read_of_a_write_that_failed_is_found(program: Path) -> None:
    story = Story()
    story.did("put", 0, 1, "failed", value="a")
    story.did("read", 2, 3, result="a")
    assert check_porcupine(program, story.history) == ILLEGAL


def test_a_condition_that_did_not_hold_is_found(program: Path) -> None:
    story = Story()
    put(story, "a", 0, 1)
    put(story, "b", 2, 3)
    story.did("cas", 4, 5, value="c", expected="0:0", expected_value="a")
    assert check_porcupine(program, story.history) == ILLEGAL


def test_a_condition_that_held_and_was_refused_is_found(program: Path) -> None:
    story = Story()
    put(story, "a", 0, 1)
    story.did("cas", 2, 3, "conflict", value="b", expected_value="a", result="a")
    assert check_porcupine(program, story.history) == ILLEGAL


def test_a_lost_update_is_found(program: Path) -> None:
    story = Story()
    story.did("increment", 0, 9, value=1, result=1)
    story.did("increment", 0, 9, value=1, result=1)
    assert check_porcupine(program, story.history) == ILLEGAL


def test_merges_and_greater_values_are_judged(program: Path) -> None:
    story = Story()
    story.did("merge", 0, 1, value={"a": 1}, result={"a": 1})
    story.did("merge", 2, 3, value={"b": 2}, result={"a": 1, "b": 2})
    for value, result in (5, 5), (3, 5), (7, 7):
        story.did("put_if_greater", 0, 9, value=value, result=result, key="g")
    assert check_porcupine(program, story.history) == {}
    story.did("merge", 4, 5, value={"c": 3}, result={"b": 2, "c": 3})
    story.did("put_if_greater", 10, 11, value=8, result=7, key="g")
    assert check_porcupine(program, story.history) == {"k": "Illegal", "g": "Illegal"}


def test_a_transaction_that_is_seen_in_part_is_found(program: Path) -> None:
    story = Story()
    transact(story, "a", 0, 1)
    story.did("transact", 2, None, "unknown", value="b", expected_value="a")
    story.did("read", 3, 4, key="k/first", result="b")
    assert check_porcupine(program, story.history) == {}
    story.did("read", 5, 6, key="k/second", result="a")
    assert check_porcupine(program, story.history) == ILLEGAL


def test_a_transaction_whose_condition_did_not_hold_is_found(program: Path) -> None:
    story = Story()
    transact(story, "a", 0, 1)
    transact(story, "b", 2, 3, expected_value="other")
    assert check_porcupine(program, story.history) == ILLEGAL


def test_an_unknown_write_may_have_happened_late_or_not_at_all(program: Path) -> None:
    story = Story()
    story.did("put", 0, None, "unknown", value="lost")
    story.did("put", 0, None, "unknown", value="late")
    put(story, "a", 1, 2)
    story.did("read", 3, 4, result="a")
    story.did("read", 5, 6, result="late")
    assert check_porcupine(program, story.history) == {}
    story.did("read", 7, 8, result="a")
    assert check_porcupine(program, story.history) == ILLEGAL
