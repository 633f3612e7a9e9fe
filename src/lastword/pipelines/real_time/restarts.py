"""How often a failed job is restarted, and after which pause."""

from __future__ import annotations

from lastword import errors
from lastword.clock import Clock
from lastword.pipelines.run.failures import OURS, raised_in

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


_IN_PYTHON = "Traceback (most recent call last)"
# What may pass besides our retriable errors: those of librdkafka and of the network.
_PASSING = ("cimpl.", "OSError", "EOFError", "BrokenPipe", "Connection", "TimeoutError")


class Restarts:
    """At most five within ten minutes, after pauses that double.

    One, when Python code raises the same once more, unless that may pass by itself: Spark has
    tried the task several times by then, and the next attempt would meet the same record.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failed_at: list[float] = []
        self._lasting: str | None = None

    def pause_after(self, error: Exception) -> float | None:
        """The seconds to wait before the next attempt; None to give up."""
        now = self._clock.monotonic()
        self._failed_at = [at for at in self._failed_at if now - at < WITHIN_S] + [now]
        text = f"{type(error).__module__}.{type(error).__name__}: {error}"
        before, self._lasting = self._lasting, _lasting_error(text)
        is_repeated = before is not None and before == self._lasting
        is_final = is_repeated or any(name in text for name in _FINAL)
        if len(self._failed_at) > RESTARTS_MAX or is_final:
            return None
        return float(_PAUSE_S * 2 ** (len(self._failed_at) - 1))


def _lasting_error(text: str) -> str | None:
    """What Python code raised, unless it may pass by itself."""
    _, is_python, after = text.rpartition(_IN_PYTHON)
    raised = raised_in(after)[:1] if is_python else []  # what follows is Spark's
    return None if not raised or _may_pass(raised[0]) else raised[0]


def _may_pass(raised: str) -> bool:
    if raised.startswith(OURS):
        name = raised.removeprefix(OURS).partition(":")[0]
        return bool(getattr(getattr(errors, name, None), "retriable", False))
    return raised.startswith(_PASSING)
