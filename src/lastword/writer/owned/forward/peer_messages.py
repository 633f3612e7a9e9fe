"""Requests and answers between two instances, as bytes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lastword import errors
from lastword.errors import LastwordError, WriteFailedError
from lastword.writer.owned.decide import Result
from lastword.writer.owned.requests import AnyAnswer, SentRequest
from lastword.writer.owned.tickets import UnreadFenceError


class ForwardedRequests(msgspec.Struct, frozen=True, array_like=True):
    """Requests for one partition; ``timeout_s`` is how long the caller waits.

    The caller has read the log up to ``position``. ``sending`` is 8 bytes of the caller's process
    and a number that grows; it stays the same when the requests are sent again.
    """

    partition: int
    timeout_s: float
    requests: tuple[SentRequest, ...]
    position: int
    sending: bytes = b""


class _Problem(msgspec.Struct, frozen=True, array_like=True, tag="problem"):
    """An error, identified by the name of its class."""

    name: str
    message: str
    hint: str | None
    fence: int | None = None


_Reply = tuple[AnyAnswer | _Problem, ...]

encode_question = msgspec.msgpack.Encoder().encode
decode_question = msgspec.msgpack.Decoder(ForwardedRequests).decode
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Reply).decode


def encode_reply(results: Sequence[Result]) -> bytes:
    """Encode the answers to a question, in the order of its requests."""
    return _encode(
        [
            _Problem(
                type(result).__name__, str(result), result.hint, getattr(result, "fence", None)
            )
            if isinstance(result, LastwordError)
            else result
            for result in results
        ]
    )


def decode_reply(data: bytes) -> list[Result]:
    """Decode what ``encode_reply`` wrote."""
    return [_error(each) if isinstance(each, _Problem) else each for each in _decode(data)]


def _error(problem: _Problem) -> LastwordError:
    if problem.fence is not None:
        return UnreadFenceError(problem.message, hint=problem.hint, fence=problem.fence)
    kind = getattr(errors, problem.name, None)
    if not (isinstance(kind, type) and issubclass(kind, LastwordError)):
        kind = WriteFailedError
    return kind(problem.message, hint=problem.hint)
