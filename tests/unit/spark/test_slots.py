"""Who gets how many of a session's slots."""

from __future__ import annotations

import threading

import pytest

from lastword.errors import ConfigError
from lastword.spark.slots import Slots


def slots(*counts: int, appear_s: float = 0.0) -> Slots:
    """With the given counts, one after the other; the last one stays."""
    left = list(counts)
    return Slots(lambda: left.pop(0) if len(left) > 1 else left[0], appear_s=appear_s)


def test_users_get_equal_shares_while_they_are_there() -> None:
    given = slots(8)
    assert given.share == 8
    with given.used_by(2), given.used_by(1):
        assert given.share == 2
    assert given.share == 8


def test_a_share_is_at_least_one() -> None:
    given = slots(1)
    with given.used_by(3):
        assert given.share == 1


def test_too_few_slots_are_refused_with_the_number_needed() -> None:
    given = slots(1)
    with (
        given.used_by(2),
        pytest.raises(ConfigError, match="has 1 task slots, but 2 are needed") as raised,
    ):
        given.require(threading.Event())
    assert "local[2]" in (raised.value.hint or "")


def test_executors_may_appear_one_by_one() -> None:
    given = slots(0, 1, 2, appear_s=60.0)
    with given.used_by(2):
        given.require(threading.Event())
        assert given.share == 1


def test_a_stopped_pipeline_waits_for_no_executors() -> None:
    looks: list[int] = []

    def none_yet() -> int:
        looks.append(0)
        return 0

    given, stop = Slots(none_yet, appear_s=60.0), threading.Event()
    stop.set()
    with given.used_by(1):
        given.require(stop)
    assert len(looks) == 1
