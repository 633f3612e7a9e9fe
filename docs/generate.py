"""Writes the generated blocks of the documentation: ``make docs``; a test runs it with --check.

A block starts with ``<!-- generated: NAME -->`` and ends with ``<!-- end -->``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from lastword import errors
from lastword.cli.main import lastword
from lastword.cli.settings import CAPTURE_SETTINGS, FREE_SECTIONS, SETTINGS, TABLE_SETTINGS, Setting
from lastword.cli.support.failure import exit_status
from lastword.metric_names import HELP, kind_of
from lastword.service.api.interface import OPERATIONS

DOCS = Path(__file__).parent
BLOCK = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def commands() -> Iterator[str]:
    """Every command with its --help."""
    for path, command in command_tree(lastword, ("lastword",)):
        context = click.Context(command, info_name=" ".join(path), max_content_width=90)
        yield f"{'##' if len(path) <= 2 else '###'} `{' '.join(path)}`\n"
        yield f"```text\n{command.get_help(context)}\n```\n"


def command_tree(
    command: click.Command, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """The command and everything below it, in the order of --help."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from command_tree(below, (*path, name))


def settings() -> Iterator[str]:
    """The settings with their environment variables."""
    yield "| setting | environment | type | default | meaning |\n|---|---|---|---|---|"
    for setting in SETTINGS:
        environment = f"`{setting.environment_variable}`"
        yield f"| `{setting.name}` | {environment} | {columns(setting)} |"
    yield ""
    yield "| section | meaning |\n|---|---|"
    for name, meaning in FREE_SECTIONS.items():
        yield f"| `[{name}]` | {meaning} |"


def table_settings() -> Iterator[str]:
    """The settings of one table."""
    yield "| setting | type | default | meaning |\n|---|---|---|---|"
    for setting in TABLE_SETTINGS:
        yield f"| `tables.NAME.{setting.name}` | {columns(setting)} |"


def capture_settings() -> Iterator[str]:
    """The settings of one capture of a database table."""
    yield "| setting | type | default | meaning |\n|---|---|---|---|"
    for setting in CAPTURE_SETTINGS:
        yield f"| `cdc.NAME.{setting.name}` | {columns(setting)} |"


def columns(setting: Setting) -> str:
    """Type, default and meaning of a setting."""
    kind = {"str": "text", "int": "number", "bool": "true or false", "Path": "path"}[
        setting.type.__name__
    ]
    kind = " or ".join(f"`{choice}`" for choice in setting.choices) or kind
    default = "" if setting.default is None else f"`{setting.default!s}`"
    if isinstance(setting.default, bool):
        default = default.lower()
    secret = " (a secret: prefer the environment)" if setting.secret else ""
    return f"{kind} | {default} | {setting.help}{secret}"


def error_tree() -> Iterator[str]:
    """Every error class, indented by its place in the tree."""
    yield "| error | retriable | exit status | meaning |\n|---|---|---|---|"
    yield from error_rows(errors.LastwordError, 0)


def error_rows(error: type[errors.LastwordError], depth: int) -> Iterator[str]:
    """The row of ``error`` and those of its subclasses."""
    indent = "&nbsp;&nbsp;" * depth
    meaning = (error.__doc__ or "").partition("\n")[0]
    retriable = "yes" if error.retriable else "no"
    status = exit_status(error("example"))
    yield f"| {indent}`{error.__name__}` | {retriable} | {status} | {meaning} |"
    for below in error.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from error_rows(below, depth + 1)


def metrics() -> Iterator[str]:
    """Every metric that the service shows."""
    yield "| metric | kind | meaning |\n|---|---|---|"
    for name, meaning in HELP.items():
        yield f"| `{name}` | {kind_of(name)} | {meaning} |"


def operations() -> Iterator[str]:
    """Every operation of the HTTP interface."""
    yield "| method and path | at a mount | needs | meaning |\n|---|---|---|---|"
    for each in OPERATIONS:
        path = each.path.replace(":path", "")
        mounted = "" if each.mounted is None else f"`/users{each.mounted.replace(':path', '')}`"
        access = each.access.name.lower() if each.access else "nothing"
        yield f"| `{each.method} {path}` | {mounted} | {access} | {each.summary} |"


GENERATORS: dict[str, Callable[[], Iterator[str]]] = {
    "commands": commands,
    "settings": settings,
    "table_settings": table_settings,
    "capture_settings": capture_settings,
    "errors": error_tree,
    "metrics": metrics,
    "operations": operations,
}


def generated(text: str) -> str:
    """The page with its blocks written again."""
    return BLOCK.sub(
        lambda match: match[1] + "\n".join(GENERATORS[match[2]]()) + "\n" + match[3], text
    )


def main() -> int:
    """Rewrite the pages, or with --check name those that are out of date."""
    stale = []
    for page in sorted(DOCS.rglob("*.md")):
        before = page.read_text()
        after = generated(before)
        if before != after:
            stale.append(page.relative_to(DOCS.parent))
            if "--check" not in sys.argv:
                page.write_text(after)
    for page in stale:
        print(f"{page} was out of date")
    return int(bool(stale) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
