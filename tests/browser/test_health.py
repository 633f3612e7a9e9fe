"""The health of a table: figures, charts, partitions, and what is not known."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from lastword.kafka.connection import Connection
from lastword.table.table import Table
from tests.browser.conftest import Dashboard, Serve, Visitor
from tests.support.local_tables.real_topic import RealTopic


def tile(page: Page, label: str) -> str:
    return f".tile:has(dt:text-is('{label}')) .figure"


def test_every_figure_of_a_local_broker_is_known(visit: Visitor) -> None:
    page = visit("#/tables/user-profiles")
    for label in ("Live keys", "Records in the log", "Superseded", "Tombstones"):
        expect(page.locator(tile(page, label))).to_have_text(re.compile(r"^[\d,]+$"))
    expect(page.locator(tile(page, "On disk"))).to_have_text(re.compile(r"^[\d.]+ KiB$"))
    expect(page.locator(tile(page, "Dirty ratio"))).to_have_text(re.compile(r"%$"))
    expect(page.locator(tile(page, "Compaction lag"))).to_have_text("none")
    expect(page.locator(tile(page, "Last cleaned"))).to_have_text("not yet")
    expect(page.locator(tile(page, "Lag"))).to_have_text("none")
    expect(page.locator(tile(page, "Past the owner"))).to_be_hidden()
    rows = page.locator("section", has_text="Partitions").locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text(re.compile(r"≈ .*B alive"))
    expect(page.locator(".reasons")).to_contain_text("active segment")


def test_unknown_figures_of_a_remote_broker_are_never_shown_as_zero(
    visit: Visitor, serve: Serve, dashboard: Dashboard, connection: Connection, tmp_path: Path
) -> None:
    remote = Table(
        "user-profiles",
        connection=connection,
        state_dir=tmp_path,
        writes="owned",
        application_id=f"remote-{tmp_path.name}",
    )
    page = visit("#/tables/user-profiles", url=serve([remote], local=False).url)
    for label in ("Dirty ratio", "Compaction lag", "Last cleaned"):
        expect(page.locator(tile(page, label))).to_have_text("unknown")
    expect(page.locator(tile(page, "On disk"))).to_have_text(re.compile("KiB$"))
    # The other service writes to the topic without asking this table's owner.
    expect(page.locator(tile(page, "Past the owner"))).to_have_text("none")
    dashboard.users.put("eu:user-000", {"name": "User 0", "plan": "team"})
    expect(page.locator(tile(page, "Past the owner"))).to_have_text("1")
    row = page.locator("section", has_text="Partitions").locator("tbody tr").first
    expect(row.locator("[data-label='Dirty']")).to_contain_text("unknown")
    expect(row.locator("[data-label='Last cleaned']")).to_contain_text("unknown")
    chart = page.locator("figure", has_text="Dirty ratio")
    expect(chart.locator(".absent")).to_contain_text("unknown")
    page.goto(page.url.split("#")[0])
    expect(page.locator(".facts")).to_contain_text(re.compile(r"Dirty\s*unknown"))


def test_charts_are_drawn_from_what_happened_and_read_by_keyboard(
    visit: Visitor, dashboard: Dashboard
) -> None:
    page = visit("#/tables/user-profiles")
    chart = page.locator("figure", has_text="Operations per second")
    line = chart.locator("path.line.tone-write")
    expect(line).to_have_attribute("d", re.compile(r"^M[\d. ]+L"))
    expect(chart.locator(".legend")).to_contain_text(re.compile(r"writes\s*[\d.]+/s"))
    plot = chart.locator("svg")
    plot.focus()
    page.keyboard.press("ArrowLeft")
    expect(plot).to_have_attribute("aria-label", re.compile(r"per second at \d\d:\d\d:\d\d: reads"))
    others = page.locator("figure", has_text="Live keys").locator(".crosshair")
    expect(others).to_have_attribute("visibility", "visible")
    page.keyboard.press("Escape")
    expect(others).to_have_attribute("visibility", "hidden")


def test_a_restore_shows_how_far_it_is_and_what_it_waits_for(
    visit: Visitor, serve: Serve, connection: Connection, topic_name: str, tmp_path: Path
) -> None:
    topic = RealTopic(connection, topic_name).create()
    topic.produce((b"a", b"1"), (b"b", b"2"))
    writer = topic.begin_transaction((b"c", b"3"), name=topic_name)
    table = Table(topic_name, connection=connection, state_dir=tmp_path)
    started = serve([table])
    page = visit(f"#/tables/{topic_name}", url=started.url)
    expect(page.locator(".title .pill")).to_have_text("restoring")
    expect(page.locator(".notice")).to_contain_text("Restoring: 67 % restored")
    expect(page.locator(".restoring")).to_contain_text("waits for an open transaction")
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "67")
    writer.commit_transaction(30)
    expect(page.locator(".title .pill")).to_have_text("live")
    expect(page.locator(".notice")).to_be_hidden()
    expect(page.locator(tile(page, "Live keys"))).to_have_text("3")


def test_an_operator_counts_the_records_of_a_log_at_once(
    visit: Visitor, dashboard: Dashboard
) -> None:
    page = visit("#/tables/page-visits", token=dashboard.token("surveyor", "admin"))
    page.get_by_role("button", name="Count now").click()
    expect(page.locator(tile(page, "Records in the log"))).to_have_text("3")
    expect(page.get_by_role("button", name="Count now")).to_be_enabled()
