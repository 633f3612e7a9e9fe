"""The rate of a growing total, from its latest samples."""

from __future__ import annotations

from collections import deque

_REMEMBERED = 15


class GrowthRate:
    """A growing total, sampled from time to time."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque(maxlen=_REMEMBERED)

    def add(self, at_s: float, total: float) -> None:
        """Add the total at a moment; a smaller one means that it started over."""
        if self._seen and total < self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((at_s, total))

    def per_second(self) -> float | None:
        """The rate over the recorded samples; None if there are too few."""
        if len(self._seen) < 2:
            return None
        (first_s, first), (last_s, last) = self._seen[0], self._seen[-1]
        return (last - first) / (last_s - first_s) if last_s > first_s else None

    def seconds_left(self, amount: float) -> float | None:
        """How long ``amount`` more takes at this rate; None if it does not grow."""
        rate = self.per_second()
        return round(amount / rate, 1) if rate else None
