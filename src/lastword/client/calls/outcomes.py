"""The outcome of one record of a batch, as a table reports it."""

from __future__ import annotations

import msgspec

from lastword.client.forms import Forms, Item
from lastword.client.problems import Problem, named_error
from lastword.errors import (
    ConflictError,
    IndeterminateError,
    LastwordError,
    NotOwnerError,
    NotUpToPositionError,
)
from lastword.records import Version
from lastword.writer.outcome import Acknowledged, Failed, Indeterminate, Outcome, Unread
from lastword.writer.owned.conflicts import Conflict, NotOwner


class BatchOutcome(msgspec.Struct):
    """The outcome of one record, as the service reports it."""

    status: str
    version: str | None = None
    error: Problem | None = None


class BatchAnswer(msgspec.Struct):
    """One outcome per record, in order."""

    outcomes: list[BatchOutcome]


def outcome_from(answer: BatchOutcome, forms: Forms) -> Outcome:
    """The outcome that the service reports; its key is None."""
    version = None if answer.version is None else Version.parse(answer.version)
    if answer.status == Acknowledged.status and version is not None:
        return Acknowledged(None, version)
    error = _error_in(answer.error or Problem(), forms)
    match error:
        case NotUpToPositionError() if version is not None:
            error.version, error.retriable = version, False
            return Unread(None, error, version)
        case ConflictError():
            return Conflict(None, error)
        case NotOwnerError():
            return NotOwner(None, error)
        case IndeterminateError():
            return Indeterminate(None, error)
    return Failed(None, error)


def _error_in(problem: Problem, forms: Forms) -> LastwordError:
    error = named_error(problem, 500)
    shown = bytes(problem.current)
    if isinstance(error, ConflictError) and shown:
        error.current = forms.entry(msgspec.json.decode(shown, type=Item))
        error.version = error.current.version
    return error
