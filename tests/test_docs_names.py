"""Names in prose exist, and the nouns of the code are explained: nothing points nowhere."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
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
GLOSSARY = ROOT / "docs" / "glossary.md"

# `kafka/admin/admin.py`, but not a path of the reader's own machine such as `/etc/x.py`.
NAMED_FILE = re.compile(r"`((?:[\w-]+/)+[\w.-]+\.(?:py|js|css|sh|java))`")
# In `code`: CamelCase, snake_case, or anything that is called.
CODE = re.compile(r"`([^`\n]+)`")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
SYMBOL = re.compile(
    r"(?<![\w/.-])(?:[A-Z][a-z0-9]+(?:[A-Z]\w*)+|[a-z]\w*_\w+|[A-Za-z_]\w*(?=\())(?![\w/-])"
)
SOURCES = {".py", ".js", ".html", ".css", ".java", ".c", ".toml", ".yml", ".json", ""}
# Names of other programs, and those of examples that the reader is to replace.
NOT_OURS = {
    "ListOffsets",
    "OrderedReady",
    "basic_auth",
    "enrich",
    "test_a_deleted_key_is_absent_from_a_range",
}

# Nouns that any programmer knows, or that Kafka, HTTP or Python have made familiar, one per line.
# Whatever else a class is called after belongs in the glossary.
PLAIN = frozenset((ROOT / "tests" / "support" / "plain_words.txt").read_text().split())


def exists(name: str, page: Path) -> bool:
    return any((place / name).is_file() for place in (ROOT, ROOT / "src/lastword", page.parent))


@cache
def words_of_the_code() -> frozenset[str]:
    files = [ROOT / "Makefile", ROOT / "pyproject.toml"]
    for folder in ("src", "tests", "examples", "benchmarks"):
        files += [path for path in (ROOT / folder).rglob("*") if path.suffix in SOURCES]
    words: set[str] = set()
    for path in files:
        if path.is_file() and path != Path(__file__):
            words |= set(re.findall(r"[A-Za-z_]\w*", path.read_text(errors="replace")))
    return frozenset(words)


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_file_that_is_named_exists(page: Path) -> None:
    named = set(NAMED_FILE.findall(page.read_text()))
    missing = sorted(name for name in named if not exists(name, page))
    assert not missing, f"{page.relative_to(ROOT)} names files that do not exist: {missing}"


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_symbol_that_is_named_exists(page: Path) -> None:
    spans = " ".join(CODE.findall(FENCED.sub("", page.read_text())))
    missing = sorted(set(SYMBOL.findall(spans)) - words_of_the_code() - NOT_OURS)
    assert not missing, (
        f"{page.relative_to(ROOT)} names {missing}, which no code has; "
        "a name of another program goes to NOT_OURS"
    )


def singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def head_noun(name: str) -> str:
    """``snapshot`` for ``LatestSnapshots``."""
    return singular(re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z][a-z0-9]*|[A-Z]+", name)[-1].lower())


def head_nouns() -> dict[str, set[str]]:
    """noun -> the public classes that are called after it; the command line has no words of its
    own, and what is only for tests needs none."""
    found: dict[str, set[str]] = defaultdict(set)
    source = ROOT / "src" / "lastword"
    for path in source.rglob("*.py"):
        if path.relative_to(source).parts[0] in {"cli", "testing"}:
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[head_noun(node.name)].add(node.name)
    return found


def glossary_words() -> list[str]:
    return re.findall(r"^\| \*\*([^*]+)\*\*", GLOSSARY.read_text(), re.MULTILINE)


def test_the_glossary_has_every_domain_word_that_classes_are_called_after() -> None:
    explained = {singular(word) for entry in glossary_words() for word in entry.lower().split()}
    unexplained = {
        noun: sorted(classes)
        for noun, classes in sorted(head_nouns().items())
        if noun not in explained | PLAIN
    }
    assert not unexplained, (
        f"explain these nouns in docs/glossary.md (or, if any programmer knows the word, add it "
        f"to tests/support/plain_words.txt): {unexplained}"
    )


def test_the_glossary_is_in_alphabetical_order_and_has_each_word_once() -> None:
    words = [word.lower() for word in glossary_words()]
    assert words == sorted(set(words))
