"""A thread for work that would block the tailing thread: sweeps, and preparing stores."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

ThreadStep = Callable[[], None]


class StepThread:
    """Runs steps one by one. A step handles its own errors and gives up once ``stopping``."""

    def __init__(self, name: str) -> None:
        self._stopping = threading.Event()
        self._steps: queue.SimpleQueue[ThreadStep | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin waiting for steps."""
        self._thread.start()

    def submit(self, step: ThreadStep) -> None:
        """Have a step run after those submitted before."""
        self._steps.put(step)

    def stopping(self) -> bool:
        """Whether the current step should stop."""
        return self._stopping.is_set()

    def stop(self) -> None:
        """Stop between two batches and wait for that."""
        self._stopping.set()
        self._steps.put(None)
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while (step := self._steps.get()) is not None and not self.stopping():
            step()
