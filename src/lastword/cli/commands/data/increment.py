"""``lastword increment``: add to a number in a table."""

from __future__ import annotations

import click

from lastword.cli.support.app_context import AppContext
from lastword.cli.support.opening import describe_entry
from lastword.cli.support.table_options import TableSpec, with_table
from lastword.cli.support.writing import open_owned
from lastword.errors import ConfigError


@click.command(context_settings={"ignore_unknown_options": True})
@with_table
@click.argument("key")
@click.argument("by", default="1")
def increment(app: AppContext, spec: TableSpec, key: str, by: str) -> None:
    """Add BY, which may be negative, to the number of KEY in TABLE; print the sum.

    A missing key counts as 0. The owner of the key's partition adds, so concurrent increments are
    never lost.
    """
    amount = _number(by)
    with open_owned(app, spec) as table:
        entry = table.increment(spec.parse_key(key), amount)
    app.output.line(str(entry.value), describe_entry(entry))


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError as error:
        raise ConfigError(f"{text!r} is not a number", hint="as in 1, -3 or 2.5") from error
