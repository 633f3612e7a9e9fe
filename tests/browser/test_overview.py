"""The first page: every table at a glance."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import USERS, Dashboard, Visitor


def test_the_page_shows_every_table_without_errors_or_outside_requests(visit: Visitor) -> None:
    page = visit()
    cards = page.locator(".card:not(.skeleton)")
    expect(cards).to_have_count(3)
    expect(cards.locator("h2 a")).to_have_text(["user-profiles", "service-config", "page-visits"])
    expect(cards.locator(".pill")).to_have_text(["live", "live", "live"])
    expect(page).to_have_title("Tables · Lastword")
    expect(page.get_by_text(re.compile("3 tables · .* keys · nothing behind"))).to_be_visible()
    assert visit.errors == []
    assert visit.outside == []


def test_a_card_counts_what_the_log_is_made_of(visit: Visitor) -> None:
    card = visit().locator(".card", has_text="user-profiles")
    expect(card.locator(".headline")).to_contain_text("records")
    expect(card.locator(".legend", has_text="superseded")).to_contain_text(re.compile(r"\d+ · "))
    expect(card.locator(".facts")).to_contain_text(re.compile(r"On disk.*KiB"))
    keys = card.locator(".headline .figure").inner_text()
    assert int(keys.replace(",", "")) >= USERS


def test_the_instance_that_answers_is_named(visit: Visitor, dashboard: Dashboard) -> None:
    row = visit().locator("section", has_text="Instances").locator("tbody tr")
    expect(row).to_contain_text("(this one)")
    expect(row).to_contain_text(dashboard.url)


def test_a_click_on_a_card_opens_its_table_and_back_returns(visit: Visitor) -> None:
    page = visit()
    page.locator(".card", has_text="service-config").click(position={"x": 30, "y": 150})
    expect(page.locator("h1")).to_have_text("service-config")
    page.go_back()
    expect(page.locator("h1")).to_have_text("Tables")


def test_a_wall_shows_the_same_in_larger_letters(visit: Visitor) -> None:
    page = visit("#/wall", width=3840, height=2160)
    expect(page.locator(".card:not(.skeleton)")).to_have_count(3)
    size = page.locator(".card .figure").first.evaluate(
        "e => parseFloat(getComputedStyle(e).fontSize)"
    )
    assert size > 60
    page.goto(f"{page.url.split('#')[0]}#/")
    expect(page.locator("html")).to_have_attribute("data-page", "overview")
    assert size > 1.5 * page.locator(".card .figure").first.evaluate(
        "e => parseFloat(getComputedStyle(e).fontSize)"
    )
