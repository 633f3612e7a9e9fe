"""The files of the page: small, on their own, and served safely. No browser needed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lastword import service
from lastword.service.api.routes_dashboard import files

ROOT = Path(__file__).parent.parent.parent
PAGE = Path(service.__file__).parent / "page"
FILES = sorted(path for path in PAGE.rglob("*") if path.is_file())
SCRIPTS = [path for path in FILES if path.suffix == ".js"]
# Ways to make markup or code of text, and to send something elsewhere.
FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment"
    r"|\beval\(|new Function|setAttribute\(\"on|https?://(?!www\.w3\.org/2000/svg)"
)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_short_says_why_it_is_there_and_makes_no_markup(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= 250
    assert text.startswith("// ")
    assert max(map(len, text.splitlines())) <= 200
    assert not FORBIDDEN.search(text)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_the_imports_of_a_script_exist_and_are_used(path: Path) -> None:
    text = path.read_text()
    for names, module in re.findall(r'^import \{([^}]+)\} from "([^"]+)";', text, re.M):
        exported = (path.parent / module).read_text()
        for name in (each.strip() for each in names.split(",")):
            assert re.search(
                rf"export (?:async )?(?:function\*?|class|const|let) {name}\b", exported
            )
            assert len(re.findall(rf"\b{name}\b", text)) > 1, f"{name} is not used"


def test_the_document_has_nothing_inline_and_names_only_files_that_are_there() -> None:
    text = (PAGE / "index.html").read_text()
    assert not re.search(r"<style|\bstyle=|\son\w+=|<script>", text)
    linked = re.findall(r'(?:src|href)="(/[^"#]+)"', text)
    assert linked
    assert all(name.startswith("/assets/") and (PAGE / name[8:]).is_file() for name in linked)


def test_every_file_is_used() -> None:
    everything = "".join(path.read_text() for path in FILES)
    unused = [path.name for path in FILES if path.name not in everything and path.suffix != ".html"]
    assert not unused


def test_the_page_allows_its_own_files_and_nothing_else() -> None:
    headers = dict(files()["index.html"].headers)
    policy = headers[b"content-security-policy"].decode()
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "require-trusted-types-for 'script'" in policy
    assert "unsafe" not in policy
