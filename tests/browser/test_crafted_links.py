"""A crafted link made the page delete another key than it showed, with the reader's token.

``window=`` and ``raw=`` of the address bar went into the service's paths as they were, so that
``../`` in them led to another key. The page now accepts only digits and base64url there, and every
path is made in one function, which keeps each part one segment.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from lastword import service
from tests.browser.conftest import Dashboard, Visitor

PAGE = Path(service.__file__).parent / "page"

# What shows the key `decoy`, or bytes, and leads to the key `victim` of another table.
ESCAPES = {
    "window": ("page-visits", "key=decoy&window=" + quote("../../../user-profiles/keys/victim")),
    "escaped window": ("page-visits", "key=decoy&window=" + quote("%2e%2e/%2e%2e")),
    "window with a query": ("page-visits", "key=decoy&window=" + quote("0?encoding=base64url#")),
    "raw": ("user-profiles", "raw=" + quote("victim?")),
    "raw in another table": ("service-config", "raw=" + quote("../../user-profiles/keys/victim?")),
}


@pytest.mark.parametrize("case", ESCAPES)
def test_a_link_that_leaves_its_place_names_no_key(
    visit: Visitor, dashboard: Dashboard, case: str
) -> None:
    dashboard.users.put("victim", {"kept": True})
    table, query = ESCAPES[case]
    asked: list[str] = []
    page = visit(token=dashboard.token(f"crafted-{len(dashboard.tokens.tokens())}"))
    page.on("request", lambda request: asked.append(request.url))
    page.evaluate("hash => { location.hash = hash }", f"#/tables/{table}/keys?{query}")
    expect(page.locator(".keys-table tbody tr").first).to_be_visible()
    expect(page.locator(".detail")).to_be_hidden()
    expect(page.get_by_role("button", name="Delete key")).to_be_hidden()
    assert not [url for url in asked if "victim" in url]
    assert dashboard.users["victim"] == {"kept": True}


def shown(page: Page) -> tuple[str, str]:
    return page.locator(".key-name").inner_text(), page.locator(".value-block").inner_text()


def test_a_key_whose_text_looks_like_a_path_is_deleted_itself(
    visit: Visitor, dashboard: Dashboard
) -> None:
    visit.forgiven = ("404",)  # what Chromium itself says about the key that is gone at the end
    dashboard.users.put("victim", {"kept": True})
    for number, key in enumerate(("../victim", "..", "victim?x=1", "victim#", "%2e%2e/victim")):
        dashboard.users.put(key, {"number": number})
        link = f"#/tables/user-profiles/keys?key={quote(key, safe='')}"
        page = visit(link, token=dashboard.token(f"pathlike-{number}"))
        expect(page.locator(".value-block")).to_contain_text(f'"number": {number}')
        assert shown(page)[0] == key
        page.get_by_role("button", name="Delete key").click()
        page.get_by_role("button", name="Delete", exact=True).click()
        expect(page.get_by_text(re.compile("Deleted; the tombstone is version"))).to_be_visible()
        assert key not in dashboard.users
    assert dashboard.users["victim"] == {"kept": True}


def test_paths_of_tables_are_made_in_one_function() -> None:
    makers = {
        path.name
        for path in PAGE.rglob("*.js")
        if re.search(r"[\"'`]/?tables/\$?|/keys|/windows", path.read_text())
    }
    # route.js makes addresses of this page, and tablepage.js shows a path to people.
    assert makers <= {"endpoint.js", "route.js", "tablepage.js"}, makers
