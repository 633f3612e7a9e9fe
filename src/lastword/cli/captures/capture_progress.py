"""Lines about a running capture: the copy of all rows with the time left, then the lag."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from lastword.cdc.postgres.capture_status import CapturePhase, CaptureStatus
from lastword.cli.support.app_context import AppContext
from lastword.cli.support.sizes import as_duration, as_size
from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.pipelines import BatchReport

EVERY_S = 2.0
_QUIET_S = 60.0


class CaptureProgress:
    """Counts rows, and turns a status into a line where there is something new to say."""

    def __init__(
        self, store: str, rows_expected: int, *, resumed: bool, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._store = store
        self._expected = rows_expected
        self._clock = clock
        self._rows: int | None = None
        self._events = 0
        self._first: tuple[float, int] | None = None
        self._copied = resumed
        self._again: int | None = None  # the events before a new copy of rows that are there
        self._said: tuple[object, ...] = ()
        self._text = ""
        self._said_at = float("-inf")

    def batch(self, report: BatchReport) -> None:
        """A batch of the pipeline was committed."""
        self._events += report.tally.records
        if self._store in report.stores:
            self._rows = report.stores[self._store].rows
        if self._first is None:
            self._first = self._clock.monotonic(), self._done or 0

    @property
    def _done(self) -> int | None:
        """How many rows are copied; None until somebody has counted them."""
        if self._again is None or self._rows is None:
            return self._rows
        return self._events - self._again

    def line(self, status: CaptureStatus) -> tuple[str, dict[str, Any]] | None:
        """Text and values; None when nothing has changed for less than a minute."""
        if status.phase is CapturePhase.SNAPSHOT:
            if self._copied:
                self._again, self._first = self._events, None
            self._copied = False
        elif status.phase is CapturePhase.STREAMING and status.events_behind == 0:
            self._copied = True
        said = (
            *(status.phase, self._copied, self._events, status.connector, status.failure),
            *(status.problems, status.holds_back),
        )
        now = self._clock.monotonic()
        is_quiet = now - self._said_at < _QUIET_S
        if said == self._said and is_quiet:
            return None
        self._said = said
        values = self._values(status)
        text = f"{status.name}: {_text(status, values)}"
        if text == self._text and is_quiet:
            return None
        self._text, self._said_at = text, now
        return text, values

    def _values(self, status: CaptureStatus) -> dict[str, Any]:
        slot = status.slot
        return {
            "capture": status.name,
            "phase": status.phase.value if self._copied else CapturePhase.SNAPSHOT.value,
            "rows": self._rows,
            "rows_copied": None if self._copied else self._done,
            "rows_expected": None if self._copied else max(self._done or 0, self._expected),
            "eta_seconds": None if self._copied else self._eta_s(),
            "lag_bytes": None if slot is None else slot.lag_bytes,
            "lag_seconds": status.lag_seconds,
            "events_behind": status.events_behind,
            "slot_bytes": None if slot is None else slot.held_bytes,
            "connector": status.connector,
            "failure": status.failure,
            "problems": list(status.problems),
        }

    def _eta_s(self) -> float | None:
        """By the rate since the first batch."""
        if self._first is None:
            return None
        since, rows = self._first
        now = self._done or 0
        seconds, done = self._clock.monotonic() - since, now - rows
        if seconds <= 0 or done <= 0:
            return None
        return round(max(0, self._expected - now) * seconds / done, 1)


def _text(status: CaptureStatus, values: dict[str, Any]) -> str:
    """Until the first batch of this run, nobody has counted the rows."""
    if status.problems:
        return "; ".join(status.problems)
    if status.failure is not None:
        return (
            f"the connector has failed: {status.failure}\n"
            f"  try again after a repair: lastword cdc resume {status.name}"
        )
    if status.phase is CapturePhase.STARTING:
        return "the connector starts"
    if values["phase"] == CapturePhase.SNAPSHOT:
        rows, total = values["rows_copied"], values["rows_expected"]
        if not rows:
            return f"copying about {total:,} rows"
        eta = values["eta_seconds"]
        left = "" if eta is None else f", about {as_duration(max(1.0, eta))} left"
        return f"copying: {rows:,} of about {total:,} rows ({rows / max(1, total):.0%}){left}"
    counted = "" if values["rows"] is None else f"{values['rows']:,} rows; "
    return f"{counted}{lag_text(status)}"


def lag_text(status: CaptureStatus) -> str:
    """How far behind it is, and what the database keeps for it."""
    parts = []
    if status.lag_seconds is not None:
        behind = f"{status.events_behind:,} events" if status.events_behind else "no event"
        parts.append(f"{behind} behind, {as_duration(status.lag_seconds)}")
    else:
        why = "" if status.runs else f": the connector is {status.connector}"
        parts.append(f"lag unknown{why}")
    if (slot := status.slot) is not None:
        connected = "" if slot.active else ", and the connector is not connected"
        parts.append(
            f"{as_size(slot.lag_bytes)} of the database's log to read, "
            f"{as_size(slot.held_bytes)} kept for it{connected}"
        )
    return "; ".join(parts)


class ProgressThread:
    """Prints the lines of one capture until it is stopped."""

    def __init__(
        self, app: AppContext, progress: CaptureProgress, status: Callable[[], CaptureStatus]
    ) -> None:
        self._app = app
        self._progress = progress
        self._status = status
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cdc-progress", daemon=True)

    def __enter__(self) -> ProgressThread:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            line = self._progress.line(self._status())
            if line is not None:
                self._app.output.line(*line)
            self._stopping.wait(EVERY_S)
