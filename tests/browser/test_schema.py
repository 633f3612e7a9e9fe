"""The schema of a table: its text, its versions, and how many keys hold which."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from playwright.sync_api import expect

from lastword.codecs import upgrade
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.service.observe import schema_state
from lastword.table.table import Table
from lastword.topics.creation import create_topic
from tests.browser.conftest import Serve, Visitor

HOSTILE = "<img src=x onerror=document.title='owned'>"


class Before(msgspec.Struct):
    name: str


class Profile(msgspec.Struct):
    name: str
    age: int = 0

    @upgrade(from_version=1)
    def _with_age(old: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
        return old | {"age": 1}


Profile.__doc__ = HOSTILE  # msgspec puts it into the schema


def test_the_page_shows_the_schema_and_how_many_keys_hold_which_version(
    visit: Visitor,
    serve: Serve,
    connection: Connection,
    topic_name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Admin(connection) as admin:
        create_topic(admin, topic_name, partitions=1)
    with Table(topic_name, connection=connection, value=Before, name="old") as old:
        old.put_many((f"user-{n}", Before("A")) for n in range(3))
    table = Table(topic_name, connection=connection, value=Profile, store="memory")
    dashboard = serve([table])
    table.wait_ready()
    table.put("user-9", Profile("Z", 9))

    # A table that is too large to be counted by itself.
    monkeypatch.setattr(schema_state, "COUNTED_KEYS_MAX", 0)
    admin_token = dashboard.token("operator", "admin")
    page = visit(f"#/tables/{table.name}/schema", url=dashboard.url, token=admin_token)
    expect(page.locator(".schema-text")).to_contain_text(f'"description": "{HOSTILE}"')
    expect(page.locator(".schema-text img")).to_have_count(0)
    expect(page).to_have_title(re.compile(re.escape(table.name)))
    expect(page.locator(".versions li")).to_have_count(1)
    expect(page.locator(".versions")).to_contain_text("not counted")

    page.get_by_role("button", name="Count now").click()
    rows = page.locator(".versions li")
    expect(rows.nth(0)).to_contain_text(re.compile(r"Version 2\s*newest\s*1 key · 25"))
    expect(rows.nth(1)).to_contain_text(re.compile(r"Version 1.*3 keys · 75"))
    expect(page.locator(".schema [role=status]")).to_contain_text("counted")
    table.close()
