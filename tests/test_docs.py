"""The documentation says everything there is, and its links lead somewhere."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import lastword
from lastword import errors
from lastword.cli.main import lastword as command_line
from lastword.cli.settings import CAPTURE_SETTINGS, SETTINGS, TABLE_SETTINGS, Setting
from lastword.cli.settings.settings_file import read_file

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def command_tree(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from command_tree(below, f"{path} {name}")


ALL_COMMANDS = dict(command_tree(command_line, "lastword"))


def error_classes(root: type[errors.LastwordError]) -> Iterator[type[errors.LastwordError]]:
    yield root
    for below in root.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from error_classes(below)


def metric_names() -> set[str]:
    """The name in every call of ``.counter``, ``.gauge`` and ``.latency``."""
    names = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in {"counter", "gauge", "latency"}
                and node.args
                and isinstance(node.args[0], ast.Constant)
            ):
                names.add(str(node.args[0].value))
    return names


def test_the_generated_parts_are_up_to_date() -> None:
    command = [sys.executable, ROOT / "docs" / "generate.py", "--check"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, f"run `make docs`\n{answer.stdout}{answer.stderr}"


@pytest.mark.parametrize("name", ALL_COMMANDS)
def test_a_command_is_documented_with_all_its_options(name: str) -> None:
    command = ALL_COMMANDS[name]
    page = (REFERENCE / "cli.md").read_text()
    section = re.search(rf"^##+ `{re.escape(name)}`\n(.*?)(?=^##|\Z)", page, re.M | re.S)
    assert section, f"`{name}` is missing in docs/reference/cli.md: run `make docs`"
    assert command.help, f"give `{name}` a docstring"
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.opts[-1] in section[1], f"run `make docs` for {parameter.opts[-1]}"
            assert parameter.help, f"give {parameter.opts[-1]} of `{name}` a help text"


@pytest.mark.parametrize("name", ALL_COMMANDS)
def test_the_json_of_a_command_is_documented(name: str) -> None:
    takes_json = any("--json" in parameter.opts for parameter in ALL_COMMANDS[name].params)
    listed = f"| `{name}` |" in (REFERENCE / "json.md").read_text()
    assert takes_json == listed, f"add the fields of `{name}` to docs/reference/json.md"


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_a_setting_is_documented_and_shown_in_the_full_example(setting: Setting) -> None:
    page = (REFERENCE / "settings.md").read_text()
    assert f"| `{setting.name}` | `{setting.environment_variable}` |" in page, "run `make docs`"
    assert setting.name.rpartition(".")[2] in example_file(), (
        f"add {setting.name} to the full lastword.toml in docs/reference/settings.md"
    )


@pytest.mark.parametrize("setting", TABLE_SETTINGS, ids=lambda setting: setting.name)
def test_a_setting_of_a_table_is_documented_and_shown(setting: Setting) -> None:
    page = (REFERENCE / "settings.md").read_text()
    assert f"| `tables.NAME.{setting.name}` |" in page, "run `make docs`"
    assert f"\n{setting.name} = " in example_file()


@pytest.mark.parametrize("setting", CAPTURE_SETTINGS, ids=lambda setting: setting.name)
def test_a_setting_of_a_capture_is_documented_and_shown(setting: Setting) -> None:
    page = (REFERENCE / "settings.md").read_text()
    assert f"| `cdc.NAME.{setting.name}` |" in page, "run `make docs`"
    assert f"\n{setting.name} = " in example_file()


def test_the_full_example_of_a_settings_file_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "lastword.toml"
    file.write_text(example_file())
    settings = read_file(file)
    assert settings["connection.sasl_username"] == "shop"
    assert settings.table("users")["store"] == "rocksdb"


def example_file() -> str:
    blocks = re.findall(r"```toml\n(.*?)```", (REFERENCE / "settings.md").read_text(), re.S)
    assert len(blocks) == 1, "docs/reference/settings.md has exactly one full example"
    return str(blocks[0])


@pytest.mark.parametrize(
    "error", tuple(error_classes(errors.LastwordError)), ids=lambda error: error.__name__
)
def test_an_error_is_documented(error: type[errors.LastwordError]) -> None:
    assert f"`{error.__name__}`" in (REFERENCE / "errors.md").read_text(), "run `make docs`"
    assert error.__name__ in (errors.__doc__ or ""), f"draw {error.__name__} in errors.py's tree"


@pytest.mark.parametrize("name", sorted(metric_names()))
def test_a_metric_is_documented(name: str) -> None:
    assert f"`{name}`" in (REFERENCE / "metrics.md").read_text(), (
        f"add `{name}` to docs/reference/metrics.md"
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_a_file_or_a_heading(page: Path) -> None:
    broken = []
    for link in LINK.findall(page.read_text()):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        target, _, anchor = link.partition("#")
        file = (page.parent / target) if target else page
        if not file.exists() or (anchor and anchor not in headings(file)):
            broken.append(link)
    assert not broken, f"these links of {page.name} lead nowhere: {broken}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_file_that_is_named_exists(page: Path) -> None:
    named = re.findall(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|md|toml|txt))`", page.read_text())
    places = (ROOT, ROOT / "src" / "lastword", page.parent)
    gone = [name for name in named if not any((place / name).exists() for place in places)]
    assert not gone, f"{page.name} names files that are not there: {gone}"


def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them of headings."""
    lines = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


def test_every_page_is_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md" or not page.exists():
            continue
        reached.add(page)
        links = (link.partition("#")[0] for link in LINK.findall(page.read_text()))
        waiting += [(page.parent / link).resolve() for link in links if link]
    lost = [page.relative_to(ROOT).as_posix() for page in PAGES if page.resolve() not in reached]
    assert not lost, f"no way leads from README.md to {lost}"


def test_the_changelog_is_about_this_version() -> None:
    versions = re.findall(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert versions[0] == lastword.__version__, "CHANGELOG.md and __version__ must agree"


def test_the_makefile_documents_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^\.PHONY: (.+)$", makefile, re.M))
    documented = set(re.findall(r"^([a-z-]+):.*## \S", makefile, re.M))
    assert targets == documented, "write `target: needs ## what it does`"
