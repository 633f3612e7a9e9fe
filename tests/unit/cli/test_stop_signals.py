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
    with calling_at_signals(lambda: locked.put(lock.acquire(timeout=180))):
        with lock:
            signal.raise_signal(number)
        assert locked.get(timeout=180)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_reaches_another_thread_wakes_the_main_one(number: signal.Signals) -> None:
    stopped, ended = threading.Event(), threading.Event()
    other = threading.Thread(target=ended.wait)
    other.start()
    try:
        with calling_at_signals(stopped.set):
            sender = threading.Timer(0.1, signal.pthread_kill, (other.ident, number))
            sender.start()
            assert stopped.wait(180)
            sender.join()
    finally:
        ended.set()
        other.join()


def test_other_signals_do_not_stop_it() -> None:
    calls: queue.SimpleQueue[str] = queue.SimpleQueue()
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        with calling_at_signals(lambda: calls.put("stop")):
            signal.raise_signal(signal.SIGUSR1)
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert calls.qsize() == 1
