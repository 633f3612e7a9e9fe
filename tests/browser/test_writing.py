"""Writing from the page: only with a token that allows it; refusals are shown."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from lastword.kafka.connection import Connection
from lastword.table.table import Table
from tests.browser.conftest import Dashboard, Serve, Visitor

REFUSED = ("401", "403")


def give(page: Page, token: str) -> None:
    page.locator("#token").click()
    page.get_by_role("textbox", name="Token").fill(token)
    page.get_by_role("button", name="Use it").click()


def test_a_key_is_made_changed_and_deleted_with_a_token(
    visit: Visitor, dashboard: Dashboard
) -> None:
    visit.forgiven = ("404",)  # what Chromium itself says about the key that is gone at the end
    page = visit("#/tables/user-profiles/keys")
    expect(page.get_by_role("link", name="New key")).to_be_hidden()
    give(page, dashboard.token("writer"))
    expect(page.locator("#token")).to_have_text("Token: write")
    page.get_by_role("link", name="New key").click()
    page.get_by_role("textbox", name="Key").fill("form:1")
    page.get_by_label("Value, as JSON").fill('{"from": "the form"}')
    page.get_by_role("button", name="Put", exact=True).click()
    expect(page.locator(".key-name")).to_have_text("form:1")
    expect(page.locator(".value-block")).to_have_text('{ "from": "the form" }')
    page.get_by_role("button", name="Edit value").click()
    page.get_by_label("Value, as JSON").fill('{"from": "an edit"}')
    page.keyboard.press("Control+Enter")
    expect(page.locator(".value-block")).to_have_text('{ "from": "an edit" }')
    assert dashboard.users["form:1"] == {"from": "an edit"}
    page.get_by_role("button", name="Delete key").click()
    page.get_by_role("button", name="Keep it").click()
    assert "form:1" in dashboard.users
    page.get_by_role("button", name="Delete key").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_text(re.compile("Deleted; the tombstone is version"))).to_be_visible()
    expect(page.locator(".history .pill").first).to_have_text("deleted")
    assert "form:1" not in dashboard.users


def test_without_a_token_the_form_is_not_there(visit: Visitor) -> None:
    page = visit("#/tables/user-profiles/keys?key=eu%3Auser-001")
    expect(page.locator(".value-block")).to_contain_text("User 1")
    expect(page.locator(".read-only")).to_contain_text("Reading only")
    for name in ("Edit value", "Delete key", "Put"):
        expect(page.get_by_role("button", name=name, exact=True)).to_be_hidden()
    page.get_by_role("button", name="Give a token").click()
    expect(page.get_by_role("textbox", name="Token")).to_be_focused()


def test_a_token_for_reading_does_not_bring_the_form(visit: Visitor, dashboard: Dashboard) -> None:
    page = visit(
        "#/tables/user-profiles/keys?key=eu%3Auser-001", token=dashboard.token("reader", "read")
    )
    expect(page.locator("#token")).to_have_text("Token: read")
    expect(page.locator(".read-only")).to_be_visible()
    expect(page.get_by_role("button", name="Delete key")).to_be_hidden()


def test_a_delete_with_a_revoked_token_is_refused_and_the_key_stays(
    visit: Visitor, dashboard: Dashboard
) -> None:
    visit.forgiven = REFUSED
    token = dashboard.token("soon-gone")
    dashboard.users.put("kept:1", {"here": True})
    page = visit("#/tables/user-profiles/keys?key=kept%3A1", token=token)
    page.get_by_role("button", name="Delete key").click()
    dashboard.tokens.revoke("soon-gone")
    # A service looks for revoked tokens once a second.
    expect(page.locator("main > .page > .problem")).to_contain_text("no token that is known")
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator(".editor .answer.problem")).to_contain_text("no token that is known here")
    assert "kept:1" in dashboard.users


def test_an_unknown_token_is_not_kept(visit: Visitor) -> None:
    visit.forgiven = REFUSED
    page = visit()
    give(page, "lw_nonsense")
    expect(page.locator("#token-answer")).to_contain_text("not known here")
    page.keyboard.press("Escape")
    expect(page.locator("#token")).to_have_text("No token")
    assert page.evaluate("sessionStorage.getItem('lastword-token')") is None


def test_a_value_that_is_not_json_is_refused_with_a_hint(
    visit: Visitor, dashboard: Dashboard
) -> None:
    visit.forgiven = ("400",)
    page = visit("#/tables/user-profiles/keys?new", token=dashboard.token("clumsy"))
    page.get_by_role("textbox", name="Key").fill("form:bad")
    page.get_by_label("Value, as JSON").fill("{not json")
    page.get_by_role("button", name="Put", exact=True).click()
    expect(page.locator(".editor .answer.problem")).to_contain_text("The value is not json")
    assert "form:bad" not in dashboard.users


def test_a_change_by_another_user_is_shown_before_it_is_overwritten(
    visit: Visitor, dashboard: Dashboard
) -> None:
    dashboard.users.put("race:1", {"by": "one"})
    page = visit("#/tables/user-profiles/keys?key=race%3A1", token=dashboard.token("racer"))
    page.get_by_role("button", name="Edit value").click()
    page.get_by_label("Value, as JSON").fill('{"by": "me"}')
    version = dashboard.users.put("race:1", {"by": "somebody else"})
    expect(page.locator(".editor .answer")).to_contain_text(
        f"Changed by somebody else meanwhile (now {version})"
    )
    expect(page.get_by_label("Value, as JSON")).to_have_value('{"by": "me"}')


def test_a_service_that_asks_for_a_token_shows_nothing_before(
    visit: Visitor, serve: Serve, connection: Connection, tmp_path: Path
) -> None:
    visit.forgiven = REFUSED
    table = Table("service-config", connection=connection, value="string", state_dir=tmp_path)
    locked = serve([table], require_token=True)
    page = visit(url=locked.url)
    expect(page.locator(".empty")).to_contain_text("asks for a token")
    expect(page.locator(".card")).to_have_count(0)
    give(page, locked.token("reader", "read"))
    expect(page.locator(".card h2 a")).to_have_text(["service-config"])
