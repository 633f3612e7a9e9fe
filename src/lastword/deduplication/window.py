"""Exact deduplication: keeps every message id for a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.errors import ConfigError


class DeduplicationWindow:
    """Knows the ids of the last ``window_ms``; a duplicate does not extend its time.

    Memory grows with the number of different ids in the window. For one thread.

    >>> seen = DeduplicationWindow(60_000)
    >>> [seen.is_duplicate("order-1", at_ms) for at_ms in (0, 59_999, 60_000)]
    [False, True, False]
    """

    def __init__(self, window_ms: int, *, clock: Clock = SYSTEM_CLOCK) -> None:
        if window_ms < 1:
            raise ConfigError(
                f"a window of {window_ms} ms is too short", hint="give milliseconds above 0"
            )
        self.window_ms = window_ms
        self._clock = clock
        self._now_ms = -1
        self._seen: OrderedDict[Hashable, int] = OrderedDict()  # oldest first

    def __len__(self) -> int:
        """How many ids are kept."""
        return len(self._seen)

    def is_duplicate(self, message_id: Hashable, now_ms: int | None = None) -> bool:
        """Whether the id was seen within the window; if not, it is added.

        ``now_ms`` may be the time of the message instead of the clock's. Time never goes back:
        an older one counts as the largest so far.
        """
        self._now_ms = max(self._now_ms, self._clock.now_ms() if now_ms is None else now_ms)
        self._forget()
        if message_id in self._seen:
            return True
        self._seen[message_id] = self._now_ms
        return False

    def _forget(self) -> None:
        while self._seen:
            oldest = next(iter(self._seen))
            if self._now_ms - self._seen[oldest] < self.window_ms:
                return
            del self._seen[oldest]
