"""The figures of a capture: what is known as it is, and NaN for what is not."""

from __future__ import annotations

from math import isnan
from typing import cast

from lastword.cdc.postgres.capture import SlotState
from lastword.cdc.postgres.capture_monitor import CaptureMonitor
from lastword.cdc.postgres.capture_status import (
    HELD_BYTES_MAX,
    CaptureInspector,
    CapturePhase,
    CaptureStatus,
)
from lastword.exposition import exposition
from lastword.testing.waiting import wait_until


class Scripted:
    """Gives one status again and again."""

    def __init__(self, status: CaptureStatus) -> None:
        self.current = status
        self.closed = False

    def status(self) -> CaptureStatus:
        return self.current

    def close(self) -> None:
        self.closed = True


def status(held_bytes: int, *, lost: bool = False) -> CaptureStatus:
    return CaptureStatus(
        "orders",
        "db:5432/shop",
        "public.orders",
        connector="RUNNING",
        phase=CapturePhase.STREAMING,
        slot=SlotState(active=True, lag_bytes=10, held_bytes=held_bytes, lost=lost),
        events_behind=3,
        lag_seconds=1.5,
        last_event_ms=2500,
    )


def figures(monitor: CaptureMonitor) -> dict[str, float]:
    return {sample.name: sample.value for sample in monitor.metrics.samples()}


def monitored(given: CaptureStatus) -> dict[str, float]:
    scripted = Scripted(given)
    monitor = CaptureMonitor(cast("CaptureInspector", scripted), "orders", "public.orders")
    assert all(isnan(value) for value in figures(monitor).values()), "nothing is known yet"
    with monitor:
        wait_until(lambda: monitor.last is not None, "the first look", timeout=60.0)
    assert scripted.closed
    assert 'lastword_cdc_running{capture="orders",source="public.orders"}' in exposition(
        monitor.metrics.samples()
    )
    return figures(monitor)


def test_the_figures_are_those_of_the_last_status() -> None:
    assert monitored(status(20)) == {
        "cdc_running": 1,
        "cdc_events_behind": 3,
        "cdc_lag_seconds": 1.5,
        "cdc_last_event_timestamp_seconds": 2.5,
        "cdc_lag_bytes": 10,
        "cdc_slot_bytes": 20,
        "cdc_slot_active": 1,
        "cdc_slot_alert": 0,
    }


def test_a_slot_that_holds_back_the_log_is_an_alert() -> None:
    assert monitored(status(HELD_BYTES_MAX + 1))["cdc_slot_alert"] == 1
    assert monitored(status(0, lost=True))["cdc_slot_alert"] == 1
    assert monitored(status(HELD_BYTES_MAX))["cdc_slot_alert"] == 0


def test_what_cannot_be_asked_is_not_zero() -> None:
    unknown = CaptureStatus("orders", "db:5432/shop", "public.orders", problems=("refused",))
    found = monitored(unknown)
    assert found.pop("cdc_running") == 0
    assert all(isnan(value) for value in found.values())
