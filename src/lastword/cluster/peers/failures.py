"""Errors between peers: Lastword's own travel by name, any other stays in its process's log."""

from __future__ import annotations

import msgspec

from lastword import errors
from lastword.errors import ClusterError, LastwordError


class Failure(msgspec.Struct, frozen=True):
    """An error as it crosses the wire."""

    name: str
    message: str
    hint: str | None
    retriable: bool


def pack_failure(error: LastwordError) -> bytes:
    """The error as bytes."""
    name = type(error).__name__
    return msgspec.json.encode(Failure(name, str(error), error.hint, error.retriable))


def unpack_failure(data: bytes) -> LastwordError:
    """The same error, as far as this version knows it; else a ClusterError that says the same."""
    try:
        failure = msgspec.json.decode(data, type=Failure)
    except msgspec.DecodeError:
        return ClusterError("a peer failed in a way that this version does not understand")
    kind = getattr(errors, failure.name, None)
    if not (isinstance(kind, type) and issubclass(kind, LastwordError)):
        kind = ClusterError
    error = kind(failure.message, hint=failure.hint)
    error.retriable = failure.retriable
    return error
