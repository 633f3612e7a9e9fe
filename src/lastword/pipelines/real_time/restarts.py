"""How often a failed job is restarted, and after which pause."""

from __future__ import annotations

from lastword.clock import Clock

RESTARTS_MAX = 5
WITHIN_S = 600.0
_PAUSE_S = 0.5

# Errors that a retry cannot fix, as named in the text of a remote traceback.
_FINAL = (
    "lastword.errors.FencedError",
    "lastword.errors.PartitionCountError",
    "lastword.errors.ConfigError",
    "lastword.errors.PipelineError",
    "ModuleNotFoundError",
    "PicklingError",
)


class Restarts:
    """At most five within ten minutes, after pauses that double."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failed_at: list[float] = []

    def pause_after(self, error: Exception) -> float | None:
        """The seconds to wait before the next attempt; None to give up."""
        now = self._clock.monotonic()
        self._failed_at = [at for at in self._failed_at if now - at < WITHIN_S] + [now]
        text = f"{type(error).__module__}.{type(error).__name__}: {error}"
        if len(self._failed_at) > RESTARTS_MAX or any(name in text for name in _FINAL):
            return None
        return float(_PAUSE_S * 2 ** (len(self._failed_at) - 1))
