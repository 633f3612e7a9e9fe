"""``lastword delete``: tombstones."""

from __future__ import annotations

import click

from lastword.cli.support.app_context import AppContext
from lastword.cli.support.table_options import TableSpec, with_table
from lastword.cli.support.writing import expected_version, open_writer, raise_worst
from lastword.errors import ConfigError


@click.command()
@with_table
@click.argument("keys", nargs=-1, required=True)
@click.option(
    "--if-version",
    metavar="PARTITION:OFFSET",
    help="Delete only if this is the key's version, as `get --json` prints it.",
)
def delete(app: AppContext, spec: TableSpec, keys: tuple[str, ...], if_version: str | None) -> None:
    """Delete KEYS from TABLE by writing tombstones, whether the keys exist or not."""
    expected = expected_version(if_version)
    if expected is not None and len(keys) > 1:
        raise ConfigError(
            "--if-version takes exactly one key", hint="delete the other keys with another command"
        )
    with open_writer(app, spec, conditional=expected is not None) as writer:
        outcomes = writer.write((key, writer.record(key, None, expected)) for key in keys)
        for outcome in outcomes:
            writer.print_outcome(outcome)
        raise_worst(outcomes)
