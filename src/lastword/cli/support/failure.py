"""How a command ends when something goes wrong: a message, a hint and an exit status."""

from __future__ import annotations

import click

from lastword import errors
from lastword.cli.support.output import as_json, printable_lines

NOT_FOUND_OR_CONFLICT = 1
USAGE = 2
UNREACHABLE_OR_TIMEOUT = 3
_INDENT = " " * len("error: ")

_USAGE_ERRORS = (errors.ConfigError, errors.EncodeError, errors.InvalidRecordError)
_CONFLICTS = (errors.StoreLockedError, errors.LeaseHeldError)
_TIMEOUTS = (errors.IndeterminateError, errors.NotUpToPositionError)


def exit_status(error: errors.LastwordError) -> int:
    """0 is success; see the table in docs/reference/cli.md."""
    if isinstance(error, _USAGE_ERRORS):
        return USAGE
    if isinstance(error, _TIMEOUTS) or (error.retriable and not isinstance(error, _CONFLICTS)):
        return UNREACHABLE_OR_TIMEOUT
    return NOT_FOUND_OR_CONFLICT


class CommandFailure(click.ClickException):
    """A LastwordError on its way to standard error."""

    def __init__(self, error: errors.LastwordError, *, json_lines: bool) -> None:
        super().__init__(str(error))
        self.error = error
        self.exit_code = exit_status(error)  # type: ignore[misc]  # click reads it per instance
        self._json_lines = json_lines

    def show(self, file: object = None) -> None:
        """Write the message and the hint; messages may quote a topic, so they are escaped."""
        if self._json_lines:
            problem = {
                "error": type(self.error).__name__,
                "message": str(self.error),
                "hint": self.error.hint,
                "retriable": self.error.retriable,
            }
            click.echo(as_json(problem), err=True)
            return
        click.echo("error: " + printable_lines(str(self.error), _INDENT), err=True)
        if self.error.hint:
            click.echo("hint:  " + printable_lines(self.error.hint, _INDENT), err=True)
