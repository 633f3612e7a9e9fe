"""Files that the documentation names exist: prose that points nowhere is worse than none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROSE = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "benchmarks" / "README.md",
    ROOT / "tests" / "regressions" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
# `kafka/admin/admin.py`, but not a path of the reader's own machine such as `/etc/x.py`.
NAMED = re.compile(r"`((?:[\w-]+/)+[\w.-]+\.(?:py|js|css|sh|java))`")


def exists(name: str, page: Path) -> bool:
    return any((place / name).is_file() for place in (ROOT, ROOT / "src/lastword", page.parent))


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_file_that_is_named_exists(page: Path) -> None:
    named = set(NAMED.findall(page.read_text()))
    missing = sorted(name for name in named if not exists(name, page))
    assert not missing, f"{page.relative_to(ROOT)} names files that do not exist: {missing}"
