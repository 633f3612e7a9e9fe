"""The page of the captures: source, lag, slot size, last event, and changes of the columns."""

from __future__ import annotations

import re
from dataclasses import replace

from playwright.sync_api import Page, expect

from lastword.cdc.postgres.capture_status import HELD_BYTES_MAX
from lastword.testing.waiting import wait_until
from tests.browser.conftest import Serve, Visitor
from tests.support.captures.scripted_captures import ScriptedInspector, looking_at, streaming

HOSTILE = "<img src=x onerror=document.title='owned'>"


def tile(page: Page, capture: str, label: str) -> str:
    panel = page.get_by_label(f"Capture {capture}", exact=True)
    return panel.locator(".tile", has=page.get_by_text(label, exact=True)).inner_text()


def test_the_page_shows_each_capture_and_follows_it(visit: Visitor, serve: Serve) -> None:
    orders = ScriptedInspector(streaming("orders", column=HOSTILE))
    stuck = ScriptedInspector(
        replace(
            streaming("stuck", held_bytes=HELD_BYTES_MAX + 1),
            connector="PAUSED",
            problems=(f"refused by {HOSTILE}",),
        )
    )
    with looking_at(orders) as first, looking_at(stuck) as second:
        wait_until(lambda: first.last and second.last, "both are known", timeout=180.0)
        page = visit("#/captures", url=serve([], captures=[first, second]).url)

        panel = page.get_by_label("Capture orders", exact=True)
        expect(panel).to_contain_text("public.orders at db:5432/shop")
        expect(panel.locator(".pill")).to_have_text("streaming")
        assert re.search(r"1\.5 s\s+3 events behind", tile(page, "orders", "Lag"))
        assert "20 B" in tile(page, "orders", "Slot size")
        assert "ago" in tile(page, "orders", "Last event")
        assert re.search(r"2\s+version 2", tile(page, "orders", "Columns"))
        expect(panel.locator(".schema-changes li")).to_contain_text(
            f"added {HOSTILE} numeric(12,2)"
        )
        second_panel = page.get_by_label("Capture stuck", exact=True)
        expect(second_panel.locator(".pill")).to_have_text("does not answer")
        expect(second_panel.locator(".wrong li")).to_have_text(f"refused by {HOSTILE}")
        assert "1 GiB" in tile(page, "stuck", "Slot size")
        page.set_viewport_size({"width": 360, "height": 740})
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") == 0

        orders.current = replace(orders.current, failure="the slot is gone")
        expect(panel.locator(".pill")).to_have_text("failed")
        expect(panel.locator(".wrong li")).to_have_text("the slot is gone")
        expect(page).to_have_title("Captures · Lastword")
        expect(page.locator("img[src=x]")).to_have_count(0)


def test_a_service_without_captures_explains_how_to_begin(visit: Visitor) -> None:
    page = visit()
    page.get_by_role("link", name="Captures").click()
    expect(page.get_by_role("heading", name="No database table is captured here")).to_be_visible()
    expect(page.locator(".lesson pre")).to_contain_text("[cdc.orders]")
