"""The figures of a capture: what is known as it is, and NaN for what is not."""

from __future__ import annotations

from math import isnan

from lastword.cdc.postgres.capture_monitor import CaptureMonitor
from lastword.cdc.postgres.capture_status import HELD_BYTES_MAX, CaptureInspector, CaptureStatus
from lastword.errors import ConnectWorkerError
from lastword.exposition import exposition
from lastword.testing.waiting import wait_until
from tests.support.captures.scripted_captures import ScriptedInspector, looking_at, streaming

WAIT_S = 180.0


def figures(monitor: CaptureMonitor) -> dict[str, float]:
    return {sample.name: sample.value for sample in monitor.metrics.samples()}


def monitored(given: CaptureStatus) -> dict[str, float]:
    scripted = ScriptedInspector(given)
    monitor = looking_at(scripted)
    assert all(isnan(value) for value in figures(monitor).values()), "nothing is known yet"
    assert monitor.status.name == given.name
    with monitor:
        wait_until(lambda: monitor.last is not None, "the first look", timeout=WAIT_S)
    assert scripted.closed == scripted.opened
    assert 'lastword_cdc_running{capture="orders",source="public.orders"}' in exposition(
        monitor.metrics.samples()
    )
    return figures(monitor)


def test_the_figures_are_those_of_the_last_status() -> None:
    assert monitored(streaming()) == {
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
    assert monitored(streaming(held_bytes=HELD_BYTES_MAX + 1))["cdc_slot_alert"] == 1
    assert monitored(streaming(held_bytes=0, lost=True))["cdc_slot_alert"] == 1
    assert monitored(streaming(held_bytes=HELD_BYTES_MAX))["cdc_slot_alert"] == 0


def test_what_cannot_be_asked_is_not_zero() -> None:
    unknown = CaptureStatus("orders", "db:5432/shop", "public.orders", problems=("refused",))
    found = monitored(unknown)
    assert found.pop("cdc_running") == 0
    assert all(isnan(value) for value in found.values())


def test_a_worker_that_is_down_is_a_problem_until_it_runs() -> None:
    scripted = ScriptedInspector(streaming())
    is_down = True

    def opened() -> CaptureInspector:
        if is_down:
            raise ConnectWorkerError("no Connect worker runs on this machine")
        return scripted.open()

    names = CaptureStatus("orders", "db:5432/shop", "public.orders")
    with CaptureMonitor(opened, names, every_s=0.01) as monitor:
        wait_until(lambda: monitor.status.problems, "it is down", timeout=WAIT_S)
        assert monitor.status.problems == ("no Connect worker runs on this machine",)
        is_down = False
        wait_until(lambda: monitor.status == scripted.current, "it runs", timeout=WAIT_S)


def test_after_a_problem_the_worker_is_looked_up_again() -> None:
    """One that was restarted may have another address."""
    unwell = CaptureStatus("orders", "db:5432/shop", "public.orders", problems=("no answer",))
    scripted = ScriptedInspector(unwell)
    with looking_at(scripted) as monitor:
        wait_until(lambda: scripted.opened > 1, "it is opened again", timeout=WAIT_S)
        scripted.current = streaming()
        wait_until(lambda: not monitor.status.problems, "it is well", timeout=WAIT_S)
    assert scripted.closed == scripted.opened
