"""The project's own files, read by the tests that hold its habits."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def tracked(pattern: str = "*") -> list[Path]:
    """Files in version control, and those about to be."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", pattern]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for line in listed.stdout.splitlines() if (path := ROOT / line).is_file()]


PYTHON = tracked("*.py")
PACKAGE = [path for path in PYTHON if path.is_relative_to(ROOT / "src")]
TESTS = [path for path in PYTHON if path.is_relative_to(ROOT / "tests")]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(path.read_text())))


def nodes(paths: list[Path]) -> Iterator[tuple[Path, ast.AST]]:
    for path in paths:
        for node in nodes_of(path):
            yield path, node


def calls(paths: list[Path], *dotted: str) -> list[str]:
    """Where one of the named functions is called, as ``path:line``."""
    return [
        f"{name_of(path)}:{node.lineno} calls {ast.unparse(node.func)}"
        for path, node in nodes(paths)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in dotted
    ]


def assert_none(found: list[str], advice: str) -> None:
    assert not found, f"{advice}:\n  " + "\n  ".join(found)
