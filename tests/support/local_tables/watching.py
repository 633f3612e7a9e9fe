"""Taking changes from a watcher without waiting for ever for one that never comes."""

from __future__ import annotations

from lastword.clock import SYSTEM_CLOCK
from lastword.table.entry import Change
from lastword.table.watch import Watch


def take(watch: Watch, count: int, *, timeout: float = 180.0) -> list[Change]:
    """The next ``count`` changes, within that many seconds."""
    deadline = SYSTEM_CLOCK.monotonic() + timeout
    taken: list[Change] = []
    while len(taken) < count:
        change = watch.take(0.2)
        if change is not None:
            taken.append(change)
        elif SYSTEM_CLOCK.monotonic() > deadline:
            raise AssertionError(f"{len(taken)} of {count} changes within {timeout:g} s: {taken}")
    return taken


def take_delete(watch: Watch) -> Change:
    """The next delete; skips puts before it."""
    while True:
        (change,) = take(watch, 1)
        if change.deleted:
            return change
