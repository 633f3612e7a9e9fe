"""SIGINT and SIGTERM as one request to stop that cannot get lost."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_NUMBERS = (signal.SIGTERM, signal.SIGINT)


class StopSignals:
    """Each signal interrupts the main thread as Ctrl-C does, and is remembered.

    An interrupt alone can get lost: in a finalizer Python only prints it, and one that comes just
    before the main thread goes to sleep does not wake it.
    """

    def __init__(self) -> None:
        self._received = False

    def check(self) -> None:
        """Raise KeyboardInterrupt if a signal has come; for a loop that waits in short steps."""
        if self._received:
            raise KeyboardInterrupt

    def _receive(self, _number: int, _frame: FrameType | None) -> None:
        # No lock, so no Event: this runs in the main thread, which may be holding it.
        self._received = True
        raise KeyboardInterrupt


@contextmanager
def stop_signals() -> Iterator[StopSignals]:
    """Handle both signals meanwhile, SIGINT also where a script's ``&`` had it ignored."""
    signals = StopSignals()
    before = [signal.signal(each, signals._receive) for each in _NUMBERS]
    try:
        yield signals
    finally:
        for each, handler in zip(_NUMBERS, before, strict=True):
            signal.signal(each, handler)
