"""Progress bars on standard error, for slow steps; silent without a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lastword.cli.support.output import CommandOutput, printable

ProgressReport = Callable[[int, int, str], None]
"""Called with how much is done, how much there is, and what is being done now."""

_DESCRIPTION_LENGTH_MAX = 60


@contextmanager
def progress_bar(
    output: CommandOutput, title: str, *, announce: bool = False
) -> Iterator[ProgressReport]:
    """A bar; in JSON or without a terminal there is none.

    What takes minutes is still announced by a line, with its first report.
    """
    if output.json_lines or not sys.stderr.isatty():
        yield announcement(output, title) if announce else _silent
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeRemainingColumn(), console=output.console(sys.stderr), transient=True
    ) as bar:
        task = bar.add_task(title, total=None)

        def report(done: int, total: int, what: str) -> None:
            description = f"{title} {what}"[:_DESCRIPTION_LENGTH_MAX]
            bar.update(task, completed=done, total=total, description=printable(description))

        yield report


def announcement(output: CommandOutput, title: str) -> ProgressReport:
    """For what is done beside other things that print: a line with its first report, no bar."""
    return _Announcement(output, title)


class _Announcement:
    """Says once what is being done."""

    def __init__(self, output: CommandOutput, title: str) -> None:
        self._say: Callable[[], None] | None = lambda: output.info(f"{title} ...")

    def __call__(self, done: int, total: int, what: str) -> None:
        if self._say is not None:
            self._say()
            self._say = None


def _silent(done: int, total: int, what: str) -> None:
    """Nobody watches."""
