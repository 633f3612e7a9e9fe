"""Captures on the command line: where they are named, what is refused, what is told of them."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from lastword.cdc.postgres.capture import SlotState
from lastword.cdc.postgres.capture_spec import (
    CaptureSpec,
    forget_capture,
    keep_capture,
    kept_capture,
    kept_captures,
)
from lastword.cdc.postgres.capture_status import CapturePhase, CaptureStatus
from lastword.cli.captures.capture_mirror import mirror_of, mirror_store
from lastword.cli.captures.capture_progress import CaptureProgress
from lastword.cli.captures.capture_settings import capture_named, every_capture
from lastword.cli.support.app_context import AppContext
from lastword.errors import CaptureError, ConfigError
from lastword.pipelines import BatchReport
from lastword.pipelines.graph.part import stores_of
from lastword.pipelines.operators.events import Tally
from lastword.pipelines.task.task_report import StoreSize
from lastword.testing.fake_clock import FakeClock

SPEC = CaptureSpec("orders", "postgresql://shop:sesame@db/shop", "public.orders")


def app_with(directory: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> AppContext:
    monkeypatch.setenv("LASTWORD_HOME", str(directory / "home"))
    app = AppContext()
    app.config_file = directory / "lastword.toml"
    app.config_file.write_text(text)
    return app


def test_a_capture_is_kept_for_this_user_alone_and_forgotten(tmp_path: Path) -> None:
    keep_capture(tmp_path / "cdc", SPEC)
    file = tmp_path / "cdc" / "orders.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert kept_captures(tmp_path / "cdc") == [SPEC]
    file.write_text('{"url": "postgresql://shop:sesame@db"')
    with pytest.raises(CaptureError) as raised:
        kept_capture(tmp_path / "cdc", "orders")
    assert "sesame" not in f"{raised.value} {raised.value.hint}"
    forget_capture(tmp_path / "cdc", "orders")
    assert kept_capture(tmp_path / "cdc", "orders") is None


def test_a_capture_shows_neither_user_nor_password() -> None:
    assert "sesame" not in repr(SPEC)
    assert SPEC.database.place == "db:5432/shop"


@pytest.mark.parametrize(
    "wrong",
    [
        {"where": "total >"},
        {"columns": "id,"},
        {"url": "postgresql://shop:sesame@[db/shop"},
        {"password_reference": "sesame"},
        {"table": "a.b.c"},
    ],
)
def test_a_capture_that_cannot_be_meant_is_refused_at_once(wrong: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as raised:
        replace(SPEC, **wrong).check()
    assert "sesame" not in f"{raised.value} {raised.value.hint}"


def test_a_capture_of_the_settings_wins_over_one_that_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '[cdc.orders]\nurl = "postgresql://shop@other/shop"\ntable = "sales.orders"\n'
    app = app_with(tmp_path, text, monkeypatch)
    keep_capture(tmp_path / "home" / "cdc", SPEC)
    keep_capture(tmp_path / "home" / "cdc", replace(SPEC, name="users", table="public.users"))
    assert [(spec.name, spec.table) for spec in every_capture(app)] == [
        ("orders", "sales.orders"),
        ("users", "public.users"),
    ]
    with pytest.raises(ConfigError, match="there is no capture 'nobody'"):
        capture_named(app, "nobody")


def test_a_capture_of_the_settings_names_its_database_and_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_with(tmp_path, "[cdc.orders]\nwhere = 'id > 1'\n", monkeypatch)
    with pytest.raises(ConfigError, match=r"cdc\.orders in lastword.toml has no url and no table"):
        every_capture(app)


def test_the_pipeline_of_a_capture_writes_the_table_of_its_name() -> None:
    plain = mirror_of(SPEC)
    assert plain.application_id == "cdc-orders"
    assert SPEC.name in plain.topics
    shaped = replace(SPEC, where="id > 1", columns="id")
    assert f"cdc-orders-{mirror_store(shaped)}-changelog" in mirror_of(shaped).topics


def test_a_capture_of_the_settings_says_whether_every_change_is_a_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '[cdc.orders]\nurl = "postgresql://db/shop"\ntable = "public.orders"\n'
    (plain,) = every_capture(app_with(tmp_path, text, monkeypatch))
    (ordered,) = every_capture(app_with(tmp_path, f'{text}transactions = "ordered"\n', monkeypatch))
    for spec, every_update in ((plain, False), (ordered, True)):
        stores = stores_of(mirror_of(spec)._topology.nodes.values())
        assert [store.every_update for store in stores if store.name == "orders"] == [every_update]
    with pytest.raises(ConfigError, match=r"transactions in .* is 'all'") as raised:
        every_capture(app_with(tmp_path, f'{text}transactions = "all"\n', monkeypatch))
    assert raised.value.hint == "it takes one of last, ordered"


def test_progress_has_the_time_left_and_then_the_lag() -> None:
    clock = FakeClock()
    progress = CaptureProgress("orders", 1000, resumed=False, clock=clock)
    copying = CaptureStatus(
        "orders", "db", "public.orders", "RUNNING", phase=CapturePhase.SNAPSHOT, events_behind=900
    )
    for rows in (100, 300):
        progress.batch(_batch(rows))
        clock.advance(seconds=10)
    line = progress.line(copying)
    assert line is not None
    assert line[0] == "orders: copying: 300 of about 1,000 rows (30%), about 1 min 10 s left"
    assert (line[1]["phase"], line[1]["eta_seconds"]) == ("snapshot", 70)
    assert progress.line(copying) is None, "nothing new"
    assert progress.line(replace(copying, connector="PAUSED")) is None, "the same words again"
    slot = SlotState(active=True, lag_bytes=2048, held_bytes=4096, lost=False)
    streaming = replace(
        copying, phase=CapturePhase.STREAMING, events_behind=0, lag_seconds=0.0, slot=slot
    )
    line = progress.line(streaming)
    assert line is not None
    assert line[0] == (
        "orders: 300 rows; no event behind, 0 ms; 2 KiB of the database's log to read, "
        "4 KiB kept for it"
    )
    paused = replace(streaming, connector="PAUSED", lag_seconds=None)
    line = progress.line(replace(paused, slot=replace(slot, active=False)))
    assert line is not None
    assert line[0] == (
        "orders: 300 rows; lag unknown: the connector is PAUSED; 2 KiB of the database's log to "
        "read, 4 KiB kept for it, and the connector is not connected"
    )
    failed = progress.line(replace(streaming, failure="no such slot"))
    assert failed is not None
    assert "lastword cdc resume orders" in failed[0]


def test_progress_of_a_new_copy_starts_from_zero_although_the_rows_are_there() -> None:
    clock = FakeClock()
    progress = CaptureProgress("orders", 1000, resumed=False, clock=clock)
    streaming = CaptureStatus(
        "orders", "db", "public.orders", phase=CapturePhase.STREAMING, events_behind=0
    )
    progress.batch(_batch(1000))
    progress.line(streaming)
    progress.line(replace(streaming, phase=CapturePhase.SNAPSHOT, events_behind=1000))
    for events in (100, 200):
        progress.batch(_batch(1000, events=events))
        clock.advance(seconds=10)
    line = progress.line(replace(streaming, phase=CapturePhase.SNAPSHOT, events_behind=700))
    assert line is not None
    assert line[0] == "orders: copying: 300 of about 1,000 rows (30%), about 1 min 10 s left"
    assert (line[1]["rows"], line[1]["rows_copied"]) == (1000, 300)


def test_rows_that_nobody_has_counted_yet_are_not_told() -> None:
    """A run that goes on with a copied table has no batch until something changes."""
    progress = CaptureProgress("orders", 1000, resumed=True, clock=FakeClock())
    streaming = CaptureStatus(
        "orders",
        "db",
        "public.orders",
        "RUNNING",
        phase=CapturePhase.STREAMING,
        events_behind=0,
        lag_seconds=0.0,
    )
    line = progress.line(streaming)
    assert line is not None
    assert (line[0], line[1]["rows"]) == ("orders: no event behind, 0 ms", None)
    line = progress.line(replace(streaming, phase=CapturePhase.SNAPSHOT))
    assert line is not None
    assert line[0] == "orders: copying about 1,000 rows"


def _batch(rows: int, *, events: int | None = None) -> BatchReport:
    tally = Tally()
    tally.records = rows if events is None else events
    return BatchReport(("s",), 1.0, tally, stores={"orders": StoreSize(rows, 0)})
