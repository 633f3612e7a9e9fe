"""Wait for a condition with a deadline, instead of sleeping and hoping."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from lastword.clock import SYSTEM_CLOCK

T = TypeVar("T")


def wait_until(
    condition: Callable[[], T], what: str, *, timeout: float = 180.0, every: float = 0.02
) -> T:
    """Call ``condition`` until its answer is true, and return that answer.

    After ``timeout`` seconds the test fails with ``what`` was waited for and the last answer.
    """
    deadline = SYSTEM_CLOCK.monotonic() + timeout
    while not (answer := condition()):
        if SYSTEM_CLOCK.monotonic() > deadline:
            raise AssertionError(f"not within {timeout:g} s: {what} (last answer: {answer!r})")
        SYSTEM_CLOCK.sleep(every)
    return answer
