"""Turns an error answer into the error that a table would have raised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lastword import errors
from lastword.client.http.messages import HttpResponse
from lastword.errors import LastwordError, RequestRefusedError
from lastword.records import Version

_KINDS: Mapping[str, type[LastwordError]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, LastwordError)
}
# Problems that only HTTP has, as the errors that the same call raises on a table.
_ALIKE: Mapping[str, type[LastwordError]] = {
    "NoOwners": errors.ConfigError,
    "BadParameter": errors.ConfigError,
    "BadArgument": errors.ConfigError,
    "BadCondition": errors.ConfigError,
    "BadPosition": errors.ConfigError,
    "UnknownPartition": errors.ConfigError,
    "ConditionRequired": errors.InvalidRecordError,
    "ContentTooLarge": errors.InvalidRecordError,
    "UriTooLong": errors.InvalidRecordError,
}


class Problem(msgspec.Struct):
    """The document of an error answer, as far as a client needs it."""

    name: str = "NoProblem"
    message: str = ""
    hint: str | None = None
    retriable: bool = False
    current: msgspec.Raw = msgspec.Raw()


def problem_in(response: HttpResponse) -> Problem:
    """The problem of an answer; a generic one if the answer is not from a service."""
    try:
        return msgspec.json.decode(response.body, type=Problem)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return Problem(message=f"the answer has status {response.status} and no problem document")


def error_of(response: HttpResponse, current: Any = None) -> LastwordError:
    """The error that an answer stands for; ``current`` is the entry that a conflict found."""
    problem = problem_in(response)
    error = named_error(problem, response.status)
    if isinstance(error, errors.ConflictError):
        etag = response.headers.get(b"etag")
        if etag is not None:
            error.version = Version.parse(etag.strip(b'"').decode("latin-1"))
        error.current = current
    return error


def named_error(problem: Problem, status: int) -> LastwordError:
    """The error of that name, with the message and the hint of the service."""
    kind = _KINDS.get(problem.name) or _ALIKE.get(problem.name)
    if kind is None:
        error: LastwordError = RequestRefusedError(
            problem.message, status=status, name=problem.name, hint=problem.hint
        )
    else:
        error = kind(problem.message, hint=problem.hint)
    error.retriable = problem.retriable or status == 429
    return error
