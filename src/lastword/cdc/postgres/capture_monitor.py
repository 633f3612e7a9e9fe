"""Watches a capture from a thread of its own: its last status, and its metrics."""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import nan

from lastword.cdc.postgres.capture_status import CaptureInspector, CaptureStatus
from lastword.metrics import Metrics

EVERY_S = 5.0


class CaptureMonitor:
    """Asks for the status every few seconds while it is entered.

    What is not known is NaN in its metrics, so that an alert can tell it from zero.
    """

    def __init__(
        self, inspector: CaptureInspector, name: str, table: str, *, every_s: float = EVERY_S
    ) -> None:
        self.last: CaptureStatus | None = None
        self.metrics = Metrics(capture=name, source=table)
        self._inspector = inspector
        self._every_s = every_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"cdc-{name}", daemon=True)
        self._register()

    def __enter__(self) -> CaptureMonitor:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()
        self._inspector.close()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self.last = self._inspector.status()
            self._stopping.wait(self._every_s)

    def _register(self) -> None:
        gauge = self.metrics.gauge
        gauge("cdc_running", self._of(lambda s: s.connector == "RUNNING" and s.failure is None))
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
