"""The states of a pipeline, and the listener for changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum


class PipelineState(StrEnum):
    """The state of a pipeline; after STOPPED or ERROR it may run again."""

    CREATED = "CREATED"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    PENDING_SHUTDOWN = "PENDING_SHUTDOWN"
    STOPPED = "STOPPED"
    ERROR = "ERROR"


PipelineStateListener = Callable[[PipelineState, PipelineState], None]
"""(old, new); called on the thread that runs the pipeline: return quickly."""

_S = PipelineState
TRANSITIONS: Mapping[PipelineState, frozenset[PipelineState]] = {
    _S.CREATED: frozenset((_S.STARTING,)),
    _S.STARTING: frozenset((_S.RUNNING, _S.ERROR)),
    _S.RUNNING: frozenset((_S.PENDING_SHUTDOWN, _S.ERROR)),
    _S.PENDING_SHUTDOWN: frozenset((_S.STOPPED, _S.ERROR)),
    _S.STOPPED: frozenset((_S.STARTING,)),
    _S.ERROR: frozenset((_S.STARTING,)),
}


class PipelineLife:
    """Holds the state and allows only valid transitions; used by the thread that runs."""

    def __init__(self) -> None:
        self.state = PipelineState.CREATED
        self.listener: PipelineStateListener | None = None

    def move(self, new: PipelineState) -> None:
        """Change to ``new`` and call the listener."""
        old = self.state
        if new not in TRANSITIONS[old]:
            raise RuntimeError(f"a pipeline cannot go from {old} to {new}")
        self.state = new
        if self.listener is not None:
            self.listener(old, new)
