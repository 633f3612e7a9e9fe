"""The one shape of every error answer, and which HTTP status each error has."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

import msgspec
from msgspec import Meta

from lastword import errors
from lastword.errors import LastwordError

# The first match counts, so a subclass comes before its base class.
_STATUS: tuple[tuple[type[LastwordError], int], ...] = (
    (errors.InvalidRecordError, 400),
    (errors.EncodeError, 400),
    (errors.ConfigError, 400),
    (errors.WatchLostError, 410),
    (errors.MomentGoneError, 410),
    (errors.DecodeError, 500),
    (errors.IndeterminateError, 504),
    (errors.WriteFailedError, 502),
    (errors.ConflictError, 412),
    (errors.NotOwnerError, 503),
    (errors.OverloadedError, 503),
    (errors.ClusterError, 503),
    (errors.QueryError, 503),
    (errors.TableClosedError, 503),
    (errors.ConnectionFailedError, 503),
    (errors.RegistryError, 503),
    (errors.TopicError, 503),
    (errors.SnapshotError, 503),
)

# Hints of the library name Python calls; over HTTP there is another way to do the same.
_HINTS: dict[type[LastwordError], str] = {
    errors.NotReadyError: "/ready shows the progress; ?stale=true is answered at once",
    errors.TableClosedError: "see the log of the service",
}


class RefusedError(LastwordError):
    """A problem that only HTTP has: no such path, no token, too large.

    Raised and answered inside the service only.
    """

    def __init__(
        self, status: int, name: str, message: str, *, hint: str | None = None, **headers: str
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.name = name
        self.retriable = status in (408, 503)
        self.headers = {key.replace("_", "-"): value for key, value in headers.items()}


class Problem(msgspec.Struct, omit_defaults=True):
    """The answer to a failed request, with the media type application/problem+json."""

    title: Annotated[str, Meta(description="HTTP's name of the status")]
    status: Annotated[int, Meta(ge=400, le=599)]
    name: Annotated[str, Meta(description="which error it is; stable, for programs")]
    message: Annotated[str, Meta(description="what went wrong, for people")]
    hint: Annotated[str | None, Meta(description="what to do next")] = None
    retriable: Annotated[
        bool, Meta(description="whether the same request may succeed a moment later")
    ] = False
    current: (
        Annotated[
            msgspec.Raw,
            Meta(description="the key's current record, an item, if a condition does not hold"),
        ]
        | msgspec.UnsetType
    ) = msgspec.UNSET


def status_of(error: LastwordError) -> int:
    """The HTTP status of ``error``."""
    if isinstance(error, RefusedError):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def problem_of(error: LastwordError) -> Problem:
    """The answer to a request that ended with ``error``."""
    status = status_of(error)
    current = error.current if isinstance(error, errors.ConflictError) else None
    return Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        name=error.name if isinstance(error, RefusedError) else type(error).__name__,
        message=str(error),
        hint=_HINTS.get(type(error), error.hint),
        retriable=error.retriable,
        current=current if isinstance(current, msgspec.Raw) else msgspec.UNSET,
    )
