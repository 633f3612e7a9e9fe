"""Looks at something again and again, on a thread of its own, while a block runs."""

from __future__ import annotations

import threading
from typing import Self


class Sampling:
    """Calls ``look`` every so often between ``with`` and its end."""

    every_s = 0.1

    def __init__(self) -> None:
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def look(self) -> None:
        """One look; its own class keeps what it saw."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._done.wait(self.every_s):
            self.look()
