"""The key browser: pages, searches, values, histories."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Dashboard, Visitor

HOSTILE = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'>"


def keys_in(page: Page) -> list[str]:
    return page.locator(".keys-table tbody a").all_inner_texts()


def search(page: Page, mode: str, text: str) -> None:
    page.get_by_label("How to search").select_option(label=mode)
    page.get_by_label("Search keys").fill(text)
    page.get_by_role("button", name="Search", exact=True).click()


def test_keys_are_browsed_page_by_page(visit: Visitor) -> None:
    page = visit("#/tables/user-profiles/keys")
    search(page, "Begins with", "eu:")
    expect(page.locator(".keys-table tbody a").first).to_have_text("eu:user-000")
    expect(page.locator(".keys-table tbody tr")).to_have_count(50)
    first = keys_in(page)
    assert first == sorted(first)
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("Page 2")).to_be_visible()
    expect(page.locator(".keys-table tbody a").first).to_have_text("eu:user-050")
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".keys-table tbody tr")).to_have_count(30)
    expect(page.get_by_role("button", name="Next")).to_be_disabled()
    page.get_by_role("button", name="Previous").click()
    expect(page.locator(".keys-table tbody a").first).to_have_text("eu:user-050")


def test_keys_are_searched(visit: Visitor) -> None:
    page = visit("#/tables/user-profiles/keys")
    links = page.locator(".keys-table tbody a")
    expect(links).to_have_count(50)
    search(page, "Begins with", "eu:user-12")
    expect(links).to_have_text([f"eu:user-12{i}" for i in range(10)])
    search(page, "Contains", "USER 77")
    expect(links).to_have_text(["eu:user-077"])
    search(page, "Is exactly", "eu:user-042")
    expect(links).to_have_text(["eu:user-042"])
    search(page, "Is exactly", "eu:user-04")
    expect(links).to_have_text([])
    expect(page.get_by_text("No key matches.")).to_be_visible()
    search(page, "From … on", "eu:user-128")
    expect(links.first).to_have_text("eu:user-128")


def test_a_key_shows_its_value_version_time_and_history(
    visit: Visitor, dashboard: Dashboard
) -> None:
    users = dashboard.users
    users.put("history:1", {"step": "first"})
    tombstone = users.delete("history:1")
    version = users.put("history:1", {"step": "last"})
    page = visit("#/tables/user-profiles/keys?key=history%3A1")
    detail = page.locator(".detail")
    expect(detail.locator(".key-name")).to_have_text("history:1")
    expect(detail).to_contain_text(f"version {version}")
    expect(detail.locator(".value-block")).to_have_text('{ "step": "last" }')
    records = detail.locator(".history li")
    expect(records).to_have_count(3)
    expect(records.locator(".pill")).to_have_text(["current", "tombstone", "superseded"])
    expect(records.nth(1)).to_contain_text(str(tombstone))
    expect(records.nth(2)).to_contain_text('"first"')


def test_records_are_shown_as_text_and_never_run(visit: Visitor, dashboard: Dashboard) -> None:
    key = f"hostile:{HOSTILE}"
    page = visit("#/tables/user-profiles/keys", width=1700)
    expect(page.locator(".changes .pill").first).to_contain_text("watching")
    dashboard.users.put(key, {HOSTILE: HOSTILE})
    expect(page.locator(".feed li").first).to_contain_text(key)
    expect(page.locator(".feed-value").first).to_contain_text(HOSTILE)
    search(page, "Begins with", "hostile:")
    link = page.locator(".keys-table tbody a")
    expect(link).to_have_text([key])
    link.click()
    expect(page.locator(".key-name")).to_have_text(key)
    expect(page.locator(".value-block")).to_contain_text(HOSTILE)
    expect(page.locator(".record-value")).to_contain_text(HOSTILE)
    assert page.locator("main script, main img").count() == 0
    assert page.evaluate("window.pwned") is None


def test_the_policy_of_the_page_refuses_markup_from_text(visit: Visitor) -> None:
    visit.forgiven = ("Content Security Policy", "TrustedHTML", "Trusted Type")
    page = visit()
    attempt = "() => { try { document.body.innerHTML = '<b>x</b>'; } catch (e) { return e.name; } }"
    assert page.evaluate(attempt) == "TypeError"


def test_windows_of_a_key_are_distinguished(visit: Visitor) -> None:
    page = visit("#/tables/page-visits/keys")
    rows = page.locator(".keys-table tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.locator("a")).to_have_text(["home"] * 3)
    expect(rows.locator(".value")).to_have_text(["100", "101", "102"])
    rows.nth(1).locator("a").click()
    expect(page.locator(".detail .value-block")).to_have_text("101")
    expect(page.locator(".detail")).to_contain_text(re.compile("window from .*1970"))
    expect(page.locator(".history li")).to_have_count(1)
    search(page, "Is exactly", "home")
    expect(rows).to_have_count(3)


def test_numbers_are_shown_and_edited_as_they_were_written(
    visit: Visitor, dashboard: Dashboard
) -> None:
    dashboard.users.raw.put(b"numbers", b'{"id": 12345678901234567890, "ratio": 1.0}')
    page = visit("#/tables/user-profiles/keys?key=numbers", token=dashboard.token("numbers"))
    written = '{ "id": 12345678901234567890, "ratio": 1.0 }'
    expect(page.locator(".value-block")).to_have_text(written)
    expect(page.locator(".record-value")).to_contain_text("12345678901234567890")
    page.get_by_role("button", name="Edit value").click()
    page.get_by_role("button", name="Put", exact=True).click()
    expect(page.get_by_text(re.compile("Written as version"))).to_be_visible()
    entry = dashboard.users.raw.get(b"numbers").value
    assert entry is not None
    assert b"12345678901234567890" in entry.value
    assert b"1.0" in entry.value


def test_every_key_has_an_address(visit: Visitor, dashboard: Dashboard) -> None:
    visit.forgiven = ("404",)  # what Chromium itself says about the key that is gone at the end
    config = dashboard.tables["service-config"]
    page = visit("#/tables/service-config/keys")
    for number, key in enumerate(("a/b?c=d#e", "..", "%2F", "ключ 🗝", " ")):
        config.put(key, f"odd key {number}")
        page.locator(".keys-table tbody tr", has_text=f"odd key {number}").locator("a").click()
        expect(page.locator(".value-block")).to_have_text(f'"odd key {number}"')
        config.delete(key)
        expect(page.locator(".detail")).to_contain_text("not in the table")


def test_a_link_to_a_key_leads_there(visit: Visitor, dashboard: Dashboard) -> None:
    page = visit("#/tables/user-profiles/keys")
    page.locator(".keys-table tbody a").first.click()
    name = page.locator(".key-name").inner_text()
    page.reload()
    expect(page.locator(".key-name")).to_have_text(name)
    expect(page.locator(".keys-table tbody tr[aria-current] a")).to_have_text(name)
