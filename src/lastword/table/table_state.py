"""The states a table goes through, and their listeners."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from enum import StrEnum


class TableState(StrEnum):
    """Where a table is in its life."""

    CREATED = "CREATED"
    RESTORING = "RESTORING"
    RUNNING = "RUNNING"
    REBALANCING = "REBALANCING"
    PENDING_SHUTDOWN = "PENDING_SHUTDOWN"
    STOPPED = "STOPPED"
    ERROR = "ERROR"


StateListener = Callable[[TableState, TableState], None]
"""(old, new); a table calls it on a thread of its own, in the order of the changes. It may read,
write and close the table; by then the table may have moved on."""

_S = TableState
TRANSITIONS: Mapping[TableState, frozenset[TableState]] = {
    _S.CREATED: frozenset((_S.RESTORING, _S.PENDING_SHUTDOWN, _S.ERROR)),
    _S.RESTORING: frozenset((_S.RUNNING, _S.REBALANCING, _S.PENDING_SHUTDOWN, _S.ERROR)),
    _S.RUNNING: frozenset((_S.RESTORING, _S.REBALANCING, _S.PENDING_SHUTDOWN, _S.ERROR)),
    _S.REBALANCING: frozenset((_S.RESTORING, _S.RUNNING, _S.PENDING_SHUTDOWN, _S.ERROR)),
    _S.ERROR: frozenset((_S.PENDING_SHUTDOWN,)),
    _S.PENDING_SHUTDOWN: frozenset((_S.STOPPED,)),
    _S.STOPPED: frozenset(),
}


OPEN_STATES = frozenset((_S.RESTORING, _S.REBALANCING, _S.RUNNING))
"""Started, and neither closed nor failed."""


class StateMachine:
    """Holds the state, allows valid transitions only, and lets threads wait for one.

    ``is_open`` says whether the state is one of OPEN_STATES; it is kept ready because every read
    asks.
    """

    def __init__(
        self, listener: StateListener | None, state: TableState = TableState.CREATED
    ) -> None:
        self._listener = listener
        self._state = state
        self.is_open = state in OPEN_STATES
        self._changed = threading.Condition()
        self._telling = threading.RLock()

    @property
    def state(self) -> TableState:
        """The state now."""
        return self._state

    def move(self, new: TableState) -> bool:
        """Change to ``new`` and call the listener; False if the transition is not valid."""
        with self._telling:  # until the listener returns: it gets the changes in order
            with self._changed:
                old = self._state
                if new not in TRANSITIONS[old]:
                    return False
                self._state = new
                self.is_open = new in OPEN_STATES
                self._changed.notify_all()
            if self._listener is not None:
                self._listener(old, new)
        return True

    def wait_while(self, states: frozenset[TableState], timeout_s: float) -> TableState:
        """Wait until the state is none of ``states``, at most ``timeout_s``; returns it."""
        with self._changed:
            self._changed.wait_for(lambda: self._state not in states, timeout_s)
            return self._state
