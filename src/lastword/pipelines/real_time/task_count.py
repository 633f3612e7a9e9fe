"""How many long tasks a part has: as many as its share of Spark's slots, at most its partitions."""

from __future__ import annotations

from lastword.clock import Clock
from lastword.spark.slots import Slots

SETTLED_S = 10.0
"""How long another number must be right before a job is started again with it: an executor that
died is usually replaced within seconds."""


class TaskCount:
    """Chosen when a job starts; executors and other users of the session come and go later."""

    def __init__(self, slots: Slots, partitions: int, clock: Clock) -> None:
        self._slots = slots
        self._partitions = partitions
        self._clock = clock
        self._chosen = 0
        self._differs_since: float | None = None

    def choose(self) -> int:
        """The number of tasks for a job that starts now."""
        self._chosen = self._fitting()
        self._differs_since = None
        return self._chosen

    def is_outdated(self) -> bool:
        """Whether a new job with another number of tasks would be better.

        With too few slots a task waits for ever while the others hold theirs; with too many,
        executors have nothing to do.
        """
        now = self._clock.monotonic()
        if self._fitting() == self._chosen:
            self._differs_since = None
        elif self._differs_since is None:
            self._differs_since = now
        return self._differs_since is not None and now - self._differs_since >= SETTLED_S

    def _fitting(self) -> int:
        return min(self._slots.share, self._partitions)
