"""``lastword broker log``: what the local broker has to say."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import click

from lastword.broker.info import read_info
from lastword.cli.support.app_context import AppContext, with_app
from lastword.cli.support.output import printable
from lastword.clock import SYSTEM_CLOCK
from lastword.errors import BrokerError
from lastword.home import HomeFolder

_POLL_SECONDS = 0.2


@click.command()
@with_app
@click.option(
    "-n",
    "--lines",
    type=click.IntRange(min=0),
    default=40,
    show_default=True,
    help="How many lines of what is there.",
)
@click.option("-f", "--follow", is_flag=True, help="Go on with new lines until Ctrl-C.")
@click.option("--broker", "number", type=int, default=1, show_default=True, help="Which broker.")
def log(app: AppContext, lines: int, follow: bool, number: int) -> None:
    """Print the end of the local broker's log, running or not.

    The log cleaner writes there when it has compacted a partition:
    lastword broker log -n 1000 | grep -A3 "cleaned log"
    """
    path = _log_file(app.home / HomeFolder.BROKER, number)
    written = path.read_bytes()
    end = written.rfind(b"\n") + 1  # a line that is being written comes later
    try:
        for line in chain(
            deque(written[:end].splitlines(), maxlen=lines), _new_lines(path, end) if follow else ()
        ):
            text = line.decode(errors="replace")
            app.output.line(printable(text), {"broker": number, "line": text})
    except KeyboardInterrupt:
        return


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


def _new_lines(path: Path, start: int) -> Iterator[bytes]:
    """Complete lines from byte ``start`` on, forever; continues in the next file after a roll."""
    while True:
        with path.open("rb") as file:
            file.seek(start)
            while True:
                line = file.readline()
                if line.endswith(b"\n"):
                    start = file.tell()
                    yield line.rstrip(b"\n")
                elif _is_rolled(path, file.fileno()):
                    start = 0
                    break
                else:
                    file.seek(start)
                    SYSTEM_CLOCK.sleep(_POLL_SECONDS)


def _is_rolled(path: Path, fd: int) -> bool:
    try:
        return path.stat().st_ino != os.fstat(fd).st_ino
    except FileNotFoundError:
        return False  # between the old file and the new one
