"""What failed in a task far away; Spark hands over nothing but the text of its traceback."""

from __future__ import annotations

import re

from lastword.errors import FencedError, LastwordError, PipelineError

# The last line of a traceback, with what went wrong in it.
_RAISED = re.compile(r"([a-z_]\w*\.)*[A-Z]\w*(Error|Exception)(: .*[^:])?$")


def failure_of(application_id: str, text: str) -> LastwordError:
    """The error of ours in ``text``, else the last one that anybody raised."""
    raised = [line for line in text.splitlines() if _RAISED.match(line)]
    ours = [line for line in raised if line.startswith("lastword.errors.")]
    reason = next(reversed(ours or raised), "") or text.partition("\n")[0] or "no reason is given"
    if reason.startswith("lastword.errors.FencedError"):
        return FencedError(
            f"another driver has taken over {application_id!r}: {reason.partition(': ')[2]}",
            hint="this one wrote nothing since; stop it, or stop the other one and start again",
        )
    return PipelineError(
        f"{application_id!r} failed: {reason}",
        hint="nothing is lost or half written: the next run goes on from the last commit",
    )
