"""``lastword delete``: tombstones."""

from __future__ import annotations

import click

from lastword.cli.support.app_context import AppContext
from lastword.cli.support.table_options import TableSpec, with_table
from lastword.cli.support.writing import open_writer, raise_worst


@click.command()
@with_table
@click.argument("keys", nargs=-1, required=True)
def delete(app: AppContext, spec: TableSpec, keys: tuple[str, ...]) -> None:
    """Delete KEYS from TABLE by writing tombstones, whether the keys exist or not."""
    with open_writer(app, spec) as writer:
        outcomes = writer.write((key, writer.record(key, None)) for key in keys)
        for outcome in outcomes:
            writer.print_outcome(outcome)
        raise_worst(outcomes)
