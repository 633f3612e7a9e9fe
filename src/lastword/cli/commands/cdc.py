"""``lastword cdc``: tables of databases as tables of Lastword, kept up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import click

from lastword.cdc.change import Transactions
from lastword.cdc.postgres.capture_spec import CaptureSpec
from lastword.cdc.postgres.names import SourceTable
from lastword.cli.captures.capture_settings import capture_named, capture_of
from lastword.cli.subcommands.cdc_remove import remove
from lastword.cli.subcommands.cdc_status import status
from lastword.cli.support.app_context import AppContext, with_cluster
from lastword.kafka.admin import Admin

if TYPE_CHECKING:
    from lastword.pipelines.run.driver import Mode


@click.group()
def cdc() -> None:
    """Capture the changes of database tables, and keep a table of each.

    Debezium reads the log of the database in a Kafka Connect worker, and a pipeline on Spark keeps
    the table: see docs/guides/cdc.md.
    """


cdc.add_command(status)
cdc.add_command(remove)


@cdc.command()
@with_cluster
@click.argument("url")
@click.option("--table", required=True, metavar="SCHEMA.TABLE", help="The table in the database.")
@click.option(
    "--as", "name", metavar="NAME", help="The name of the table here.  [default: the same]"
)
@click.option("--where", metavar="CONDITION", help="Keep only these rows: \"status <> 'draft'\".")
@click.option("--columns", metavar="NAMES", help="Keep only these columns: id,status,total.")
@click.option("--check", "only_check", is_flag=True, help="Check the database, and do no more.")
@click.option(
    "--connect",
    metavar="URL",
    help="Your own Kafka Connect cluster.  [default: connect.url, else a worker of this machine]",
)
@click.option(
    "--password-reference",
    metavar="REFERENCE",
    help="What the config provider of your own Connect cluster has the password under.",
)
@click.option(
    "--transactions",
    type=click.Choice(get_args(Transactions)),
    default="last",
    show_default=True,
    help="Write a row once per commit of the pipeline, or a record for every change in order.",
)
@click.option(
    "--mode",
    type=click.Choice(["real-time", "micro-batch"]),
    default="real-time",
    show_default=True,
    help="A long task that commits every 100 ms, or batches that Spark plans.",
)
def postgres(
    app: AppContext,
    url: str,
    *,
    table: str,
    name: str | None,
    where: str | None,
    columns: str | None,
    only_check: bool,
    connect: str | None,
    password_reference: str | None,
    transactions: Transactions,
    mode: Mode,
) -> None:
    """Mirror a table of the PostgreSQL database at URL until Ctrl-C.

    Checks the database first and prints what is missing, with the SQL that repairs it. Then it
    makes a publication, starts a Connect worker unless one runs, and starts the connector, which
    makes a replication slot. The pipeline copies all rows, then follows every change.

    Ctrl-C stops the pipeline. The capture stays: the connector goes on to write changes into
    Kafka, and the same command continues with them.

    Put the password into PGPASSWORD or ~/.pgpass rather than into URL: other users of this machine
    see the arguments of commands.

    CONDITION is a part of SQL: comparisons, IS NULL, IN, BETWEEN, LIKE, AND, OR and NOT. A row that
    stops matching disappears from the table.
    """
    spec = CaptureSpec(
        SourceTable.parse(table, name).name,
        url,
        str(SourceTable.parse(table, name)),
        where,
        columns,
        password_reference,
        connect,
        transactions,
    )
    spec.check()
    from lastword.cli.captures.capture_start import check_database

    check_database(app, spec)
    if not only_check:
        # Loads what pipelines need, which no other command here does.
        from lastword.cli.captures.capture_run import run_capture

        run_capture(app, spec, mode)


@cdc.command()
@with_cluster
@click.argument("name")
def pause(app: AppContext, name: str) -> None:
    """Have the connector of NAME stop reading.

    The table keeps its rows. The database keeps its log until `lastword cdc resume`: a long pause
    may fill its disk.
    """
    capture = capture_of(app, capture_named(app, name))
    capture.pause()
    app.output.line(
        f"paused {name}; the database keeps its log for the slot {capture.table.slot} until it "
        f"goes on: lastword cdc resume {name}",
        {"capture": name, "paused": True},
    )


@cdc.command()
@with_cluster
@click.argument("name")
def resume(app: AppContext, name: str) -> None:
    """Have the connector of NAME go on, or try again after a failure."""
    capture_of(app, capture_named(app, name)).resume()
    app.output.line(f"{name} goes on", {"capture": name, "paused": False})


@cdc.command()
@with_cluster
@click.argument("name")
def resync(app: AppContext, name: str) -> None:
    """Have the connector of NAME read all rows again, without an outage.

    The table keeps its rows meanwhile. When the new copy is complete, rows that it did not have
    disappear. The pipeline must run for that: `lastword cdc postgres`, or `lastword up`.
    """
    capture = capture_of(app, capture_named(app, name))
    with Admin(app.connection) as admin:
        capture.resync(admin)
    app.output.line(
        f"{name}: reading all rows of {capture.table} again; follow it: lastword cdc status {name}",
        {"capture": name, "resync": True},
    )
