"""Starts the queries of a run, watches them, and ends them together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lastword.errors import FencedError
from lastword.pipelines.api.state import PipelineLife, PipelineState
from lastword.pipelines.run.failures import failure_of

_POLL_S = 0.2


class Query(Protocol):
    """Processes one part of a pipeline."""

    def start(self, scratch: Path) -> None:
        """Start; ``scratch`` is a directory that exists for the whole run."""

    @property
    def is_active(self) -> bool:
        """Whether it was started and has not ended."""

    @property
    def failure(self) -> Exception | None:
        """The error that ended it; None if it did not fail."""

    def stop(self) -> None:
        """Stop it; what is not committed by then is left for the next run. Idempotent."""

    def finish(self) -> None:
        """Clean up after a run without a failure; idempotent."""


@dataclass(frozen=True)
class Supervisor:
    """Runs queries until one ends, one fails, or the driver is stopped or replaced.

    ``is_replaced`` says whether another driver may have taken over. ``on_look`` is called about
    five times a second.
    """

    application_id: str
    life: PipelineLife
    is_replaced: Callable[[], bool]
    on_look: Callable[[], None]

    def run(
        self, queries: Sequence[Query], scratch: Path, stop: threading.Event, *, once: bool
    ) -> None:
        """Run all queries at once; in a run that ends, one after the other, upstream first.

        Raises FencedError if another driver took over, PipelineError if a query failed.
        """
        rounds = [[query] for query in queries] if once else [queries]
        for number, together in enumerate(rounds):
            try:
                for i, query in enumerate(together):
                    query.start(scratch / f"{number}-{i}")
                if self.life.state is PipelineState.STARTING:
                    self.life.move(PipelineState.RUNNING)
                self._watch(together, stop)
            finally:
                for query in together:
                    query.stop()
            self._raise_failure(together)
        self.life.move(PipelineState.PENDING_SHUTDOWN)
        for query in queries:
            query.finish()

    def _watch(self, running: Sequence[Query], stop: threading.Event) -> None:
        """Wait until a query ends, ``stop`` is set, or another driver takes over."""
        while all(query.is_active for query in running) and not stop.wait(_POLL_S):
            self._refuse_if_replaced()
            self.on_look()

    def _raise_failure(self, ended: Sequence[Query]) -> None:
        for query in ended:
            if (failure := query.failure) is not None:
                self._refuse_if_replaced()
                raise failure_of(self.application_id, str(failure)) from failure

    def _refuse_if_replaced(self) -> None:
        if self.is_replaced():
            raise FencedError(
                f"another driver may have taken over {self.application_id!r}: "
                "this one has not reached the group for too long",
                hint="it will not rejoin; was this process paused, or the network down?",
            )
