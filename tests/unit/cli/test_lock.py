"""A signal that comes while ``lastword lock`` waits for its lock."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from lastword.cli.commands.lock import _run_locked


class HeldByAnother:
    """A lock, and the locks it belongs to; a signal comes while it is waited for."""

    def __init__(self, number: signal.Signals) -> None:
        self.closed = False
        self._number = number

    def acquire(self) -> int:
        signal.raise_signal(self._number)
        pytest.fail("the signal did not end the wait")

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_wait_for_a_lock(number: signal.Signals) -> None:
    lock: Any = HeldByAnother(number)
    assert _run_locked(lock, lock, ("never-started",)) == 128 + number
    assert lock.closed
