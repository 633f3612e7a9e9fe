"""Watches a capture from a thread of its own: its last status, and its metrics."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from math import nan

from lastword.cdc.postgres.capture_status import CaptureInspector, CaptureStatus
from lastword.errors import LastwordError
from lastword.metrics import Metrics

EVERY_S = 5.0


class CaptureMonitor:
    """Asks for the status every few seconds while it is entered.

    ``open_inspector`` may raise: then that is a problem of the status, and it is tried again. A
    look that found a problem is followed by a new inspector, because a Connect worker that was
    restarted may have another address. What is not known is NaN in its metrics, so that an alert
    can tell it from zero.

    unknown   the status before the first look: name, place and table
    """

    def __init__(
        self,
        open_inspector: Callable[[], CaptureInspector],
        unknown: CaptureStatus,
        *,
        every_s: float = EVERY_S,
    ) -> None:
        self.last: CaptureStatus | None = None
        self.metrics = Metrics(capture=unknown.name, source=unknown.table)
        self._unknown = unknown
        self._open = open_inspector
        self._inspector: CaptureInspector | None = None
        self._every_s = every_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"cdc-{unknown.name}", daemon=True)
        self._register()

    @property
    def name(self) -> str:
        """The name of the capture."""
        return self._unknown.name

    @property
    def status(self) -> CaptureStatus:
        """The last status; before the first one, nothing but names."""
        return self.last or self._unknown

    def __enter__(self) -> CaptureMonitor:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self.last = self._look()
                if self.last.problems:
                    self._close()
                self._stopping.wait(self._every_s)
        finally:
            self._close()

    def _look(self) -> CaptureStatus:
        try:
            if self._inspector is None:
                self._inspector = self._open()
            return self._inspector.status()
        except LastwordError as error:
            return replace(self._unknown, problems=(str(error),))

    def _close(self) -> None:
        inspector, self._inspector = self._inspector, None
        if inspector is not None:
            inspector.close()

    def _register(self) -> None:
        gauge = self.metrics.gauge
        gauge("cdc_running", self._of(lambda s: s.runs))
        gauge("cdc_events_behind", self._of(lambda s: s.events_behind))
        gauge("cdc_lag_seconds", self._of(lambda s: s.lag_seconds))
        gauge("cdc_last_event_timestamp_seconds", self._of(_last_event_s))
        gauge("cdc_lag_bytes", self._of(lambda s: None if s.slot is None else s.slot.lag_bytes))
        gauge("cdc_slot_bytes", self._of(lambda s: None if s.slot is None else s.slot.held_bytes))
        gauge("cdc_slot_active", self._of(lambda s: None if s.slot is None else s.slot.active))
        gauge("cdc_slot_alert", self._of(lambda s: None if s.slot is None else s.holds_back))

    def _of(self, read: Callable[[CaptureStatus], float | None]) -> Callable[[], float]:
        def value() -> float:
            found = None if self.last is None else read(self.last)
            return nan if found is None else float(found)

        return value


def _last_event_s(status: CaptureStatus) -> float | None:
    return None if status.last_event_ms is None else status.last_event_ms / 1000
