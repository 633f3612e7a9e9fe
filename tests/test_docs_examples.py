"""The examples of the documentation, run unchanged against a real broker.

The convention, for README.md and every page below docs/:

- a ``python`` block is a complete script and must end without an error;
- a ``console`` block has commands after ``$ `` and below each the output it prints, in which
  ``...`` stands for anything; without an expected output only the exit status counts;
- blocks of a page run in order, in one empty directory, with ``localhost:9092`` being the broker;
- ``py`` is a fragment; it, ``sh``, ``text``, ``toml`` and unmarked blocks are only read.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lastword.broker.embedded import EmbeddedBroker
from tests.support.prepared_home import make_prepared_home

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.M | re.S)
ADDRESS = "localhost:9092"
TIMEOUT_S = 600.0
# In one interpreter, because most of the time of an example on Spark is the start of its JVM.
TWICE = """
import runpy, sys
del sys.argv[0]
for _ in range(2):
    runpy.run_path(sys.argv[0], run_name="__main__")
"""

PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if BLOCK.search(page.read_text())
]
# Run by a test in tests/spark, on the Spark session of the other tests there.
ELSEWHERE = {"interactive_queries"}
EXAMPLES = [
    example for example in sorted((ROOT / "examples").glob("*.py")) if example.stem not in ELSEWHERE
]

pytestmark = pytest.mark.broker


@dataclass
class Terminal:
    """Runs commands as a reader of the page would, in a directory and a home of its own."""

    directory: Path
    bootstrap_servers: str
    prepared: Path
    environ: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        home = make_prepared_home(self.directory / "home", self.prepared)
        self.environ = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.directory),
            "LASTWORD_HOME": str(home),
            "LASTWORD_BOOTSTRAP_SERVERS": self.bootstrap_servers,
            "PYTHONWARNINGS": "error",
            "SPARK_SUBMIT_OPTS": os.environ["SPARK_SUBMIT_OPTS"],
        }

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.directory,
            env=self.environ,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
            check=False,
        )


@pytest.fixture
def terminal(broker: EmbeddedBroker, prepared: Path, tmp_path: Path) -> Terminal:
    """With what this machine has prepared already: downloads are not what is shown."""
    return Terminal(tmp_path, broker.bootstrap_servers, prepared)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_examples_of_a_page_run(page: Path, broker: EmbeddedBroker, terminal: Terminal) -> None:
    for kind, block in BLOCK.findall(page.read_text()):
        text = block.replace(ADDRESS, broker.bootstrap_servers)
        if kind == "python":
            check_script(terminal, text)
        else:
            for command, expected in commands(text):
                check_command(terminal, command, expected)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_an_example_runs_twice(example: Path, broker: EmbeddedBroker, terminal: Terminal) -> None:
    answer = terminal.run(sys.executable, "-c", TWICE, str(example), broker.bootstrap_servers)
    assert answer.returncode == 0, answer.stdout


def check_script(terminal: Terminal, script: str) -> None:
    answer = terminal.run(sys.executable, "-c", script)
    assert answer.returncode == 0, f"this script failed:\n{script}\n{answer.stdout}"


def check_command(terminal: Terminal, command: str, expected: str) -> None:
    answer = terminal.run("bash", "-o", "pipefail", "-c", command)
    fails_on_purpose = expected.startswith("error:")
    assert (answer.returncode != 0) == fails_on_purpose, f"$ {command}\n{answer.stdout}"
    if expected:
        pattern = re.escape(expected).replace(re.escape("..."), ".*")
        assert re.fullmatch(pattern, answer.stdout.strip(), re.S), (
            f"$ {command}\nprinted:\n{answer.stdout}\nand the page says:\n{expected}"
        )


def commands(block: str) -> list[tuple[str, str]]:
    """Each command with the output expected of it; a command ending in ``\\`` goes on."""
    found: list[tuple[str, str]] = []
    joined = block.replace("\\\n", "")
    for part in re.split(r"^\$ ", joined, flags=re.M)[1:]:
        command, _, output = part.partition("\n")
        found.append((command, output.strip()))
    return found
