"""Keeps the cyclic collector out of a batch.

Thousands of messages are made and freed by reference counting alone, yet every 700 of them would
trigger a collection: up to a quarter of the restore time, for nothing.
"""

from __future__ import annotations

import gc
import threading
from types import TracebackType


class CollectorPause:
    """``with pause:`` switches the collector off until the last thread inside has left.

    The collector is one per process. If each thread restored the state it found, one that entered
    while another was inside would leave it off for good.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._was_enabled = False

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._inside += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._was_enabled:
                gc.enable()


COLLECTOR_PAUSED = CollectorPause()
