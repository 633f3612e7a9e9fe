"""``lastword wipe``: throw the local state of a table away; the topic has everything."""

from __future__ import annotations

import shutil

import click

from lastword.cli.support.app_context import AppContext, confirm, with_app
from lastword.clock import SYSTEM_CLOCK
from lastword.errors import ConfigError
from lastword.replicas.state_directory import StateDirectory


@click.command()
@with_app
@click.argument("table")
@click.option("--yes", is_flag=True, help="Do not ask.")
def wipe(app: AppContext, table: str, yes: bool) -> None:
    """Delete the local state of TABLE; it is rebuilt from the topic at the next start.

    Refused while a process uses it. The topic is not touched.
    """
    directory = StateDirectory(app.state_dir, app.application_id, table, SYSTEM_CLOCK)
    if not directory.path.is_dir():
        raise ConfigError(
            f"there is no local state of {table} in {directory.path.parent}",
            hint="list it with: lastword state",
        )
    partitions = [int(each.name) for each in directory.path.iterdir() if each.name.isdecimal()]
    confirm(f"Delete {directory.path}?", assume_yes=yes)
    try:
        for partition in partitions:
            directory.acquire(partition)  # no process may use it, or start to
        shutil.rmtree(directory.path)
    finally:
        directory.release()
    app.output.line(f"deleted {directory.path}", {"table": table, "deleted": str(directory.path)})
