"""How it looks and handles: on a phone, in the dark, by keyboard."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visitor

PAGES = {
    "overview": ("#/", ".card .facts dd"),
    "health": ("#/tables/user-profiles", ".tile .figure"),
    "keys": ("#/tables/user-profiles/keys", ".keys-table tbody tr"),
    "key": ("#/tables/user-profiles/keys?key=eu%3Auser-000", ".history li"),
    "changes": ("#/tables/user-profiles/changes", ".changes .pill"),
    "cluster": ("#/cluster", ".lesson h2"),
    "captures": ("#/captures", ".lesson h2"),
}

# Every visible text with less contrast than WCAG asks of it (4.5, or 3 when it is large).
FAINT_TEXTS = """() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = numbers(colour).map((c) => c / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if ((numbers(colour)[3] ?? 1) === 1) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility() || element.disabled) continue;
    const style = getComputedStyle(element);
    const colour = element instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [light(colour), light(ground(element))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (contrast < (isLarge ? 3 : 4.5)) faint.push(`${node.data.trim()}: ${contrast.toFixed(2)}`);
  }
  return faint;
}"""


def each_page(page: Page) -> Iterator[str]:
    """Go to every page in turn, and on when it has what it shows."""
    for name, (path, sign) in PAGES.items():
        page.evaluate("path => { location.hash = path; }", path)
        expect(page.locator(sign).locator("visible=true").first).not_to_have_text("…")
        yield name


def test_nothing_is_wider_than_a_phone(visit: Visitor) -> None:
    page = visit(width=360, height=740)
    for name in each_page(page):
        too_wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert too_wide == 0, name


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_has_enough_contrast(visit: Visitor, dark: bool) -> None:
    page = visit(dark=dark)
    for name in each_page(page):
        assert page.evaluate(FAINT_TEXTS) == [], name


def test_the_switch_wins_over_the_system_and_is_remembered(visit: Visitor) -> None:
    page = visit(dark=True)
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.get_by_role("button", name="Theme: as the system").click()
    light = page.evaluate(background)
    assert light != dark
    page.reload()
    expect(page.get_by_role("button", name="Theme: light")).to_be_visible()
    assert page.evaluate(background) == light
    page.get_by_role("button", name="Theme: light").click()
    assert page.evaluate(background) == dark


def test_everything_is_reached_by_keyboard(visit: Visitor) -> None:
    page = visit()
    expect(page.locator(".card h2 a")).to_have_count(3)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="user-profiles")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("user-profiles")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Keys")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".keys-table tbody tr")).to_have_count(50)
    page.keyboard.press("/")
    expect(page.get_by_label("Search keys")).to_be_focused()
    page.keyboard.type("eu:user-1")
    expect(page.locator(".keys-table tbody tr")).to_have_count(30)
    links = page.locator(".keys-table tbody a")
    links.first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(links.nth(2)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".key-name")).to_have_text("eu:user-102")


def test_focus_outlives_every_refresh(visit: Visitor) -> None:
    page = visit("#/tables/user-profiles/keys")
    link = page.locator(".keys-table tbody a").nth(3)
    link.focus()
    # The list is asked for again after every change, and here by hand.
    with page.expect_response(lambda answer: "/keys?" in answer.url):
        page.get_by_role("button", name="Search", exact=True).evaluate("e => e.click()")
    expect(page.locator(".keys [aria-busy='false']")).to_be_visible()
    expect(link).to_be_focused()


def test_a_focused_element_can_be_seen(visit: Visitor) -> None:
    page = visit("#/tables/user-profiles/keys")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
    assert outline == "2px"
