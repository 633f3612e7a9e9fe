"""A request to stop is not lost where Python loses the interrupt."""

from __future__ import annotations

import queue
import signal
import threading
from contextlib import suppress

import pytest

from lastword.cli.support.stop_signals import calling_at_signals, stop_signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_interrupts_and_is_remembered(number: signal.Signals) -> None:
    with stop_signals() as signals:
        signals.check()
        with suppress(KeyboardInterrupt):  # as a finalizer would
            signal.raise_signal(number)
            pytest.fail("the signal did not interrupt")
        with pytest.raises(KeyboardInterrupt):
            signals.check()


def test_handlers_are_as_before_afterwards() -> None:
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    with stop_signals():
        assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] != before
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_may_come_while_the_main_thread_holds_the_lock_that_stopping_needs(
    number: signal.Signals,
) -> None:
    lock = threading.Lock()
    locked: queue.SimpleQueue[bool] = queue.SimpleQueue()
    with calling_at_signals(lambda: locked.put(lock.acquire(timeout=60))):
        with lock:
            signal.raise_signal(number)
        assert locked.get(timeout=120)
