"""Design decisions have one form, and every page that holds them can be found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OVERVIEW = ROOT / "docs" / "architecture.md"
PAGES = sorted((ROOT / "docs" / "architecture").glob("*.md"))
PACKAGES = {path.parent.name for path in (ROOT / "src" / "lastword").glob("*/__init__.py")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_decision_says_why_and_what_was_rejected(page: Path) -> None:
    _, _, decisions = page.read_text().partition("\n## Decisions\n")
    assert decisions, f"{page.name} has no section '## Decisions'"
    entries = re.split(r"^### ", decisions, flags=re.MULTILINE)[1:]
    wrong = [
        entry.partition("\n")[0]
        for entry in entries
        if re.findall(r"^\*\*(Why|Rejected)\.\*\*", entry, re.MULTILINE) != ["Why", "Rejected"]
    ]
    assert entries and not wrong, f"**Why.** and then **Rejected.** are missing in {wrong}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_named_after_a_package_and_linked_from_the_overview(page: Path) -> None:
    assert page.stem in PACKAGES | {"values"}, "name the page after its package"
    assert f"(architecture/{page.name})" in OVERVIEW.read_text()
