"""SIGINT and SIGTERM as one request to stop that cannot get lost."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_NUMBERS = (signal.SIGTERM, signal.SIGINT)


class StopSignals:
    """Each signal interrupts the main thread as Ctrl-C does, and is remembered.

    An interrupt alone can get lost: in a finalizer Python only prints it, and one that comes just
    before the main thread goes to sleep does not wake it.
    """

    def __init__(self) -> None:
        self.number = 0
        """The signal that came last; 0 if none has."""

    def check(self) -> None:
        """Raise KeyboardInterrupt if a signal has come; for a loop that waits in short steps."""
        if self.number:
            raise KeyboardInterrupt

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        # No lock, so no Event: this runs in the main thread, which may be holding it.
        self.number = number
        raise KeyboardInterrupt


@contextmanager
def stop_signals() -> Iterator[StopSignals]:
    """Have both signals interrupt meanwhile."""
    signals = StopSignals()
    with _handled(signals._receive):
        yield signals


@contextmanager
def calling_at_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Have each signal call ``stop`` meanwhile, without interrupting the main thread."""
    with passing_signals(lambda _number: stop()):
        yield


@contextmanager
def passing_signals(receive: Callable[[int], None]) -> Iterator[None]:
    """Have each signal call ``receive`` with its number, without interrupting the main thread.

    A thread of its own calls it. A handler runs in the main thread, which may be holding the very
    lock that ``receive`` needs (that of an Event it waits for); and not before that thread wakes
    up, if the signal reached another thread.
    """
    told, tell = os.pipe()
    os.set_blocking(tell, False)

    def call() -> None:
        while number := os.read(told, 1):
            if number[0] in _NUMBERS:
                receive(number[0])

    caller = threading.Thread(target=call, name="stop-signals", daemon=True)
    caller.start()
    before = signal.set_wakeup_fd(tell)
    try:
        with _handled(lambda *_: None):
            yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(tell)
        caller.join()
        os.close(told)


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    """Handle both signals, SIGINT also where a script's ``&`` had it ignored."""
    before = [signal.signal(each, handler) for each in _NUMBERS]
    try:
        yield
    finally:
        for each, earlier in zip(_NUMBERS, before, strict=True):
            signal.signal(each, earlier)
