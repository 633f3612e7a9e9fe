"""``lastword put``: one record, or ``key:value`` lines as Kafka's console producer reads them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import click

from lastword.cli.support.app_context import AppContext
from lastword.cli.support.progress_bar import progress_bar
from lastword.cli.support.table_options import TableSpec, with_table
from lastword.cli.support.writing import (
    CommandWriter,
    expected_version,
    open_writer,
    raise_worst,
)
from lastword.errors import ConfigError, LastwordError
from lastword.records import Absent, Header, Version, Write
from lastword.writer.outcome import Outcome

LINES_PER_BATCH = 1000


@click.command()
@with_table
@click.argument("key", required=False)
@click.argument("value", required=False)
@click.option("--header", multiple=True, metavar="NAME=VALUE", help="A header; repeatable.")
@click.option("--timestamp", type=int, help="Milliseconds since 1970.  [default: now]")
@click.option(
    "--ttl", help="How long the value lives: 500ms, 60s, 5m, 6h, 1d.  [default: no expiry]"
)
@click.option(
    "--if-version",
    metavar="PARTITION:OFFSET",
    help="Write only if this is the key's version, as `get --json` prints it.",
)
@click.option("--if-absent", is_flag=True, help="Write only if the key does not exist.")
@click.option(
    "--key-separator",
    default=":",
    show_default=True,
    help="Separates key and value of an input line.",
)
@click.option("--null-marker", help="An input line with this value is a tombstone.")
def put(  # noqa: PLR0917 - click passes them by name
    app: AppContext,
    spec: TableSpec,
    key: str | None,
    value: str | None,
    header: tuple[str, ...],
    timestamp: int | None,
    ttl: str | None,
    if_version: str | None,
    if_absent: bool,
    key_separator: str,
    null_marker: str | None,
) -> None:
    """Write VALUE for KEY into TABLE, or lines of the form key:value from standard input.

    The command ends when the cluster has acknowledged every record. For input lines it prints only
    failures; with --json, every outcome.
    """
    if key is not None and value is None:
        raise ConfigError(
            "a KEY needs a VALUE", hint=f"to delete it: lastword delete {spec.name} {key}"
        )
    headers = tuple(_parse_header(each) for each in header)
    expected = expected_version(if_version, if_absent=if_absent)
    if key is None and isinstance(expected, Version):
        raise ConfigError(
            "--if-version and --if-absent take one key", hint="name the KEY and its VALUE"
        )
    with open_writer(
        app,
        spec,
        headers=headers,
        timestamp_ms=timestamp,
        ttl=ttl,
        conditional=expected is not None,
    ) as writer:
        if key is not None:
            outcomes = writer.write([(key, writer.record(key, value, expected))])
            writer.print_outcome(outcomes[0])
            raise_worst(outcomes)
        else:
            _put_lines(app, writer, LineParser(key_separator, null_marker), expected)


def _put_lines(
    app: AppContext, writer: CommandWriter, parse: LineParser, expected: Version | Absent | None
) -> None:
    """Write in batches; a line that fails does not stop those after it."""
    done, bad = 0, list[Outcome]()
    if sys.stdin.isatty():
        app.output.info(f"Type lines of the form key{parse.separator}value; end with Ctrl-D.")
    lines = enumerate(sys.stdin, 1)
    with progress_bar(app.output, "writing") as report:
        while batch := list(islice(lines, LINES_PER_BATCH)):
            for outcome in writer.write(_prepared(writer, batch, parse, expected)):
                done += 1
                if outcome.error is not None:
                    bad.append(outcome)
                if outcome.error is not None or app.json_lines:
                    writer.print_outcome(outcome)
            report(done, done, "")
    app.output.info(f"{done - len(bad)} written, {len(bad)} failed")
    raise_worst(bad)


def _prepared(
    writer: CommandWriter,
    lines: Iterable[tuple[int, str]],
    parse: LineParser,
    expected: Version | Absent | None,
) -> Iterator[tuple[str, Write | LastwordError]]:
    """The key and the record of each line that is not empty, or the line and what is wrong."""
    for number, line in lines:
        text = line.rstrip("\n")
        if not text:
            continue
        try:
            key, value = parse(text)
            yield key, writer.record(key, value, expected)
        except LastwordError as error:
            error.args = (f"line {number}: {error}",)
            yield text, error


@dataclass(frozen=True)
class LineParser:
    """Splits a line into key and value; a value of None is a tombstone."""

    separator: str
    null_marker: str | None

    def __call__(self, line: str) -> tuple[str, str | None]:
        """Raises ConfigError when there is no separator or no key."""
        key, found, value = line.partition(self.separator)
        if not (found and key):
            raise ConfigError(
                f"no key before a {self.separator!r}",
                hint="lines are KEY:VALUE; --key-separator chooses another separator",
            )
        return key, None if value == self.null_marker else value


def _parse_header(text: str) -> Header:
    name, found, value = text.partition("=")
    if not (found and name):
        raise ConfigError(f"{text!r} is not a header", hint="headers are NAME=VALUE")
    return name, value.encode()
