"""Errors between peers: a LastwordError is sent by name, any other is only logged."""

from __future__ import annotations

import msgspec

from lastword import errors
from lastword.errors import ClusterError, LastwordError


class Failure(msgspec.Struct, frozen=True):
    """An error as it is sent."""

    name: str
    message: str
    hint: str | None
    retriable: bool


def pack_failure(error: LastwordError) -> bytes:
    """The error as bytes."""
    name = type(error).__name__
    return msgspec.json.encode(Failure(name, str(error), error.hint, error.retriable))


def unpack_failure(data: bytes) -> LastwordError:
    """The error of the same class; a ClusterError with its message if the class is unknown."""
    try:
        failure = msgspec.json.decode(data, type=Failure)
    except msgspec.DecodeError:
        return ClusterError("a peer sent an error that this version cannot read")
    kind = getattr(errors, failure.name, None)
    if not (isinstance(kind, type) and issubclass(kind, LastwordError)):
        kind = ClusterError
    error = kind(failure.message, hint=failure.hint)
    error.retriable = failure.retriable
    return error
