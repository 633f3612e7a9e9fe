"""What changes is seen as it changes, and nothing in between is lost."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Route, expect

from lastword.kafka.connection import Connection
from lastword.table.table import Table
from tests.browser.conftest import Dashboard, Serve, Visitor

LIVE_KEYS = ".tile:has(dt:text-is('Live keys')) .figure"


def test_a_put_from_the_command_line_is_seen(visit: Visitor, dashboard: Dashboard) -> None:
    page = visit("#/tables/user-profiles", width=1700)
    expect(page.locator(".changes .pill").first).to_contain_text("watching")
    expect(page.locator(LIVE_KEYS)).to_have_text(re.compile(r"^\d+$"))
    before = int(page.locator(LIVE_KEYS).inner_text())
    dashboard.put_by_command_line("user-profiles", "cli:user-1", '{"name": "Carol"}')
    expect(page.locator(".feed li").first).to_contain_text("cli:user-1")
    expect(page.locator(LIVE_KEYS)).to_have_text(str(before + 1))


def test_the_list_of_keys_follows_changes(visit: Visitor, dashboard: Dashboard) -> None:
    page = visit("#/tables/service-config/keys")
    expect(page.locator(".keys-table")).to_contain_text("checkout.timeout")
    dashboard.tables["service-config"].put("checkout.followed", "by the list")
    expect(page.locator(".keys-table")).to_contain_text("by the list")
    dashboard.tables["service-config"].delete("checkout.followed")
    expect(page.locator(".keys-table")).not_to_contain_text("by the list")


def test_the_list_of_keys_has_what_changed_before_the_page_began_to_watch(
    visit: Visitor, dashboard: Dashboard
) -> None:
    page = visit("#/")
    watching: list[Route] = []
    page.route("**/watch", lambda route, _: watching.append(route))
    page.goto(f"{dashboard.url}/#/tables/service-config/keys")
    expect(page.locator(".keys-table")).to_contain_text("checkout.timeout")
    expect(page.locator(".changes .pill").first).to_have_text("connecting")
    dashboard.tables["service-config"].put("checkout.missed", "between the two")
    watching[0].continue_()
    expect(page.locator(".keys-table")).to_contain_text("between the two")
    dashboard.tables["service-config"].delete("checkout.missed")


def test_puts_and_deletes_stand_in_the_feed_with_their_versions(
    visit: Visitor, dashboard: Dashboard
) -> None:
    page = visit("#/tables/service-config/changes")
    expect(page.locator(".changes .pill").first).to_have_text("watching")
    version = dashboard.tables["service-config"].put("feed.key", "one")
    tombstone = dashboard.tables["service-config"].delete("feed.key")
    rows = page.locator(".feed li")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text(re.compile(rf"delete.*feed\.key.*{tombstone}"))
    expect(rows.nth(1)).to_contain_text(re.compile(rf'put.*feed\.key.*{version}.*"one"'))


def test_a_paused_feed_stops_and_catches_up(visit: Visitor, dashboard: Dashboard) -> None:
    page = visit("#/tables/service-config/changes")
    expect(page.locator(".changes .pill").first).to_have_text("watching")
    page.get_by_role("button", name="Pause").click()
    dashboard.tables["service-config"].put("feed.paused", "later")
    expect(page.locator(".changes .pill").first).to_have_text("watching · 1")
    expect(page.locator(".feed li")).to_have_count(0)
    page.get_by_role("button", name="Go on").click()
    expect(page.locator(".feed li")).to_contain_text(["feed.paused"])


def test_a_lost_connection_is_shown_and_no_change_is_missed(
    visit: Visitor, serve: Serve, dashboard: Dashboard, connection: Connection, tmp_path: Path
) -> None:
    visit.forgiven = ("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING")

    def instance(**settings: int) -> Dashboard:
        options = {"value": "string", "state_dir": tmp_path}
        return serve([Table("service-config", connection=connection, **options)], **settings)

    elsewhere = dashboard.tables["service-config"]
    first = instance()
    page = visit("#/tables/service-config/changes", url=first.url)
    expect(page.locator(".changes .pill").first).to_have_text("watching")
    elsewhere.put("feed.before", "1")
    expect(page.locator(".feed")).to_contain_text("feed.before")
    first.service.stop()
    expect(page.locator("#banner")).to_contain_text("No answer from the service")
    page.get_by_role("button", name="Try now").click()
    expect(page.locator("#banner")).to_be_visible()
    elsewhere.put("feed.meanwhile", "2")
    instance(port=int(first.url.rpartition(":")[2]))
    expect(page.locator("#banner")).to_be_hidden()
    expect(page.locator(".feed li", has_text="feed.meanwhile")).to_have_count(1)
    expect(page.locator(".feed li", has_text="feed.before")).to_have_count(1)
