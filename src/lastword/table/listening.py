"""Calls the user's state listener on a thread of its own, so that it may use the table freely."""

from __future__ import annotations

import logging
import queue
import threading

from lastword.table.table_state import StateListener, TableState

log = logging.getLogger(__name__)

_LAST_WORD_S = 10.0


class ListenerThread:
    """Hands changes to ``listener`` in their order, until it has heard of STOPPED.

    The changes are made by the tailing thread, among others. A listener that wrote there would
    wait for a record that only this very thread could apply.
    """

    def __init__(self, listener: StateListener) -> None:
        self._listener = listener
        self._changes: queue.SimpleQueue[tuple[TableState, TableState]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="state-listener", daemon=True)

    def tell(self, old: TableState, new: TableState) -> None:
        """Have the listener called soon; returns at once. Called in the order of the changes."""
        self._changes.put((old, new))
        if self._thread.ident is None:
            self._thread.start()

    def wait_for_the_last(self) -> None:
        """Wait until the listener has heard everything; not if it is the listener that asks."""
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
