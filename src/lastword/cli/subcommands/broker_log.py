"""``lastword broker log``: the log of the local broker."""

from __future__ import annotations

from pathlib import Path

import click

from lastword.broker.info import read_info
from lastword.cli.support.app_context import AppContext, with_app
from lastword.cli.support.log_lines import LINES_SHOWN, print_lines
from lastword.cli.support.output import printable
from lastword.errors import BrokerError
from lastword.home import HomeFolder


@click.command()
@with_app
@click.option(
    "-n",
    "--lines",
    type=click.IntRange(min=0),
    default=LINES_SHOWN,
    show_default=True,
    help="How many existing lines to print.",
)
@click.option("-f", "--follow", is_flag=True, help="Keep printing new lines until Ctrl-C.")
@click.option("--broker", "number", type=int, default=1, show_default=True, help="Which broker.")
def log(app: AppContext, lines: int, follow: bool, number: int) -> None:
    """Print the end of the local broker's log, running or not.

    The log cleaner writes there when it has compacted a partition:
    lastword broker log -n 1000 | grep -A3 "cleaned log"
    """
    path = _log_file(app.home / HomeFolder.BROKER, number)
    print_lines(
        path,
        lines,
        lambda line: app.output.line(printable(line), {"broker": number, "line": line}),
        follow=follow,
    )


def _log_file(directory: Path, number: int) -> Path:
    info = read_info(directory)
    if info is None:
        raise BrokerError(
            "no local broker was ever started", hint="start one: lastword broker start"
        )
    for node in info.nodes:
        if node.id == number:
            if not node.log_file.exists():
                raise BrokerError(f"broker {number} has written nothing to {node.log_file} yet")
            return node.log_file
    raise BrokerError(f"there is no broker {number}", hint=f"there are {len(info.nodes)}")
