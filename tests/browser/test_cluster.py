"""The page of the cluster: who is there, who keeps which partition, and what moved."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.topics.creation import create_topic
from tests.browser.conftest import Serve, Visitor
from tests.support.shared_tables.partitioned_tables import PartitionedTables, wait_until_settled

PARTITIONS = 3
HOSTILE_RACK = "<img src=x onerror=document.title='owned'>"


def panel(page: Page, heading: str) -> Locator:
    return page.locator("section.panel", has=page.get_by_role("heading", name=heading))


def test_the_page_shows_the_cluster_and_follows_it(
    visit: Visitor, serve: Serve, connection: Connection, tmp_path: Path, topic_name: str
) -> None:
    with Admin(connection) as admin:
        create_topic(admin, topic_name, partitions=PARTITIONS)
    with PartitionedTables(connection, tmp_path, topic_name) as tables:
        a = tables.open("a", rack=HOSTILE_RACK)
        b = tables.open("b", rack="zone-b", weight=2, restart_within="10m")
        url = serve([a]).url
        wait_until_settled([a, b], PARTITIONS, copies=2)
        page = visit("#/cluster", url=url)

        members = panel(page, "Instances").locator("tbody tr")
        expect(members).to_have_count(2)
        expect(members.nth(0)).to_contain_text("this one")
        expect(members.filter(has_text="leader")).to_have_count(1)
        expect(members.nth(0)).to_contain_text(HOSTILE_RACK)
        expect(members.nth(1)).to_contain_text(re.compile("b.*present.*127.0.0.1:.*zone-b"))
        partitions = panel(page, topic_name).locator("tbody tr")
        expect(partitions).to_have_count(PARTITIONS)
        for row in partitions.all():
            expect(row.locator(".copies li")).to_have_count(2)
            expect(row.locator(".pill")).to_have_text(["level", "level"])
        fits_a_phone(page)

        b.close()  # for a while: it keeps its partitions
        expect(members.nth(1)).to_contain_text(re.compile("restarting, .* left"))
        expect(partitions.locator(".pill").filter(has_text="restarting")).to_have_count(PARTITIONS)
        tables.open("b", rack="zone-b", weight=2).close()  # for good
        expect(members).to_have_count(1)
        moved = panel(page, "Movements").locator("li")
        expect(moved.filter(has_text="b → a").first).to_contain_text(re.compile("plan #[0-9]+"))
        expect(partitions.locator(".copies li")).to_have_text([re.compile("^a")] * PARTITIONS)
        expect(page).to_have_title("Cluster · Lastword")
        expect(page.locator("img[src=x]")).to_have_count(0)


def fits_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") == 0
    page.set_viewport_size({"width": 1280, "height": 900})


def test_a_service_without_shared_tables_explains_how_to_share_one(visit: Visitor) -> None:
    page = visit()
    page.get_by_role("link", name="Cluster").click()
    expect(page.get_by_role("heading", name="No table is shared yet")).to_be_visible()
    expect(page.locator(".lesson pre")).to_contain_text('layout = "partitioned"')
