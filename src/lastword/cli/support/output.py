"""What a command prints: JSON lines for programs, tables and plain lines for people.

Everything that comes from a topic is hostile until escaped: keys, values, headers, topic names
and error texts may hold terminal escapes. Here is the only place that writes to the terminal.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

# C0 and C1 controls, DEL, marks that reorder or hide text, and halves of surrogate pairs.
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufff9-\ufffb]"
)
_WIDTH_MAX = 10_000
_SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: str) -> str:
    r"""The text with everything a terminal could obey written out.

    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return _UNPRINTABLE.sub(lambda match: _SHORT_ESCAPES.get(match[0]) or _escaped(match[0]), text)


def printable_lines(text: str, indent: str = "") -> str:
    """The same, but with the line breaks that our own messages have; ``indent`` follows each."""
    return f"\n{indent}".join(printable(line) for line in text.split("\n"))


def as_json(value: object) -> str:
    """One line of JSON; what JSON lets through and a terminal might obey is escaped too."""
    try:
        line = _dumps(value)
    except TypeError:
        line = _dumps(_with_text_keys(value))
    except RecursionError:  # decoded where the stack was a little shorter
        line = _dumps("nested too deeply to be shown")
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", line)


def as_text(value: object) -> str:
    """A decoded key or value for people: text as it is, bytes as Python shows them, else JSON."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, bytes):
        return str(value)[2:-1]
    return as_json(value)


def as_time(timestamp_ms: int) -> str:
    """A record's time in UTC; producers set it as they like, so it may be no time at all.

    >>> as_time(0)
    '1970-01-01 00:00:00.000'
    """
    try:
        time = datetime.fromtimestamp(timestamp_ms // 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(timestamp_ms)
    return f"{time:%Y-%m-%d %H:%M:%S}.{timestamp_ms % 1000:03d}"


class CommandOutput:
    """Standard output in one of the two forms, and notes for people on standard error."""

    def __init__(self, *, json_lines: bool) -> None:
        self.json_lines = json_lines

    def rows(self, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> int:
        """One object per line, or one table of ``columns``; returns how many rows there were."""
        if self.json_lines:
            count = 0
            for count, row in enumerate(rows, 1):  # noqa: B007 - the count is the result
                click.echo(as_json(row))
            return count
        from rich.table import Table

        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(column.replace("_", " "), no_wrap=True)
        for row in rows:
            table.add_row(*(_cell(row.get(column)) for column in columns))
        if table.row_count:
            # Lines longer than the terminal are for the terminal to wrap: columns squeezed into
            # 80 characters are too few, and a pipe has no width.
            self.console(width=_WIDTH_MAX).print(table, crop=False)
        return table.row_count

    def details(self, values: Mapping[str, object]) -> None:
        """One thing: a JSON object, or one ``name  value`` line per entry."""
        if self.json_lines:
            click.echo(as_json(values))
            return
        width = max(len(name) for name in values)
        for name, value in values.items():
            click.echo(f"{name.replace('_', ' '):<{width}}  {_cell(value)}")

    def line(self, text: str, values: Mapping[str, object]) -> None:
        """One event as it happens: ``text`` for people, ``values`` as a JSON line."""
        click.echo(as_json(values) if self.json_lines else printable_lines(text))

    def info(self, text: str) -> None:
        """Something a person wants to know and a program does not; never on standard output."""
        if not self.json_lines:
            click.echo(printable_lines(text), err=True)

    def console(self, file: IO[str] | None = None, width: int | None = None) -> Console:
        """A rich console that takes text literally: no markup, no emoji codes, no highlighting."""
        from rich.console import Console

        return Console(file=file, width=width, markup=False, emoji=False, highlight=False)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return as_text(value)


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=_jsonable, separators=(",", ":"))


def _with_text_keys(value: Any) -> Any:
    """The value with keys that JSON can have: a MessagePack map may have bytes, or anything.

    Without recursion: a topic's documents may be nested more deeply than that would bear.
    """
    whole = [value]
    todo: list[Any] = [whole]
    while todo:
        outer = todo.pop()
        for at, each in outer.items() if isinstance(outer, dict) else enumerate(outer):
            if isinstance(each, dict):
                outer[at] = {_text_key(key): inner for key, inner in each.items()}
            elif isinstance(each, list | tuple):
                outer[at] = list(each)
            else:
                continue
            todo.append(outer[at])
    return whole[0]


def _text_key(key: Any) -> Any:
    if key is None or isinstance(key, str | int | float):
        return key  # JSON has a way to write these
    return _jsonable(key) if isinstance(key, bytes) else as_text(key)


def _jsonable(value: Any) -> object:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return str(value)
