"""The collector is off while anybody reads a batch, and on again when the last one is done."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from lastword.kafka.log.collector_pause import CollectorPause


@pytest.fixture(autouse=True)
def _collector_as_before() -> Iterator[None]:
    assert gc.isenabled()
    yield
    gc.enable()


def test_the_last_one_to_leave_puts_it_on_again() -> None:
    pause = CollectorPause()
    pause.__enter__()
    pause.__enter__()
    pause.__exit__(None, None, None)
    assert not gc.isenabled()
    pause.__exit__(None, None, None)
    assert gc.isenabled()


def test_it_is_on_again_after_an_error() -> None:
    with pytest.raises(ValueError), CollectorPause():
        raise ValueError
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    with CollectorPause():
        pass
    assert not gc.isenabled()
