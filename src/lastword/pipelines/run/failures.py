"""The error of a remote task, found in the text of its traceback: Spark passes nothing else."""

from __future__ import annotations

import re

from lastword.errors import FencedError, LastwordError, PipelineError

# The last line of a traceback, with the error message.
_RAISED = re.compile(r"([a-z_]\w*\.)*[A-Z]\w*(Error|Exception)(: .*[^:])?$")


OURS = "lastword.errors."


def raised_in(text: str) -> list[str]:
    """What was raised, by the last lines of the tracebacks in ``text``."""
    return [line for line in text.splitlines() if _RAISED.match(line)]


def failure_of(application_id: str, text: str) -> LastwordError:
    """The LastwordError in ``text``, else the last error of any kind."""
    raised = raised_in(text)
    ours = [line for line in raised if line.startswith(OURS)]
    reason = next(reversed(ours or raised), "") or text.partition("\n")[0] or "no reason is given"
    if reason.startswith("lastword.errors.FencedError"):
        return FencedError(
            f"another driver has taken over {application_id!r}: {reason.partition(': ')[2]}",
            hint="this one has written nothing since; stop it, or stop the other and start again",
        )
    return PipelineError(
        f"{application_id!r} failed: {reason}",
        hint="nothing is lost or half written: the next run continues from the last commit",
    )
