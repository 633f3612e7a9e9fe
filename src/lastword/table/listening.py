"""Calls the user's state listener on a separate thread, so that it may use the table."""

from __future__ import annotations

import logging
import queue
import threading

from lastword.table.table_state import StateListener, TableState

log = logging.getLogger(__name__)

_LAST_WORD_S = 10.0


class ListenerThread:
    """Passes changes to ``listener`` in order, until STOPPED. Some changes happen on the tailing
    thread. A listener that wrote there would wait for a record that only that thread can apply.
    """

    def __init__(self, listener: StateListener) -> None:
        self._listener = listener
        self._changes: queue.SimpleQueue[tuple[TableState, TableState]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="state-listener", daemon=True)

    def tell(self, old: TableState, new: TableState) -> None:
        """Queue a call of the listener; returns at once. Calls keep the order of the changes."""
        self._changes.put((old, new))
        if self._thread.ident is None:
            self._thread.start()

    def wait_for_the_last(self) -> None:
        """Wait until the listener was called for every change; not on its own thread."""
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join(_LAST_WORD_S)
            if self._thread.is_alive():
                log.warning("a state listener has not returned for %.0f s", _LAST_WORD_S)

    def _run(self) -> None:
        new: TableState | None = None
        while new is not TableState.STOPPED:
            old, new = self._changes.get()
            try:
                self._listener(old, new)
            except Exception:
                log.exception("the state listener failed for the state %s", new)
