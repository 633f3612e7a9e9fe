"""Complete answers, with the headers that every one of them carries."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from starlette.types import Receive, Scope, Send

from lastword.errors import ConflictError, LastwordError
from lastword.service.http.problems import Problem, RefusedError, problem_of

log = logging.getLogger(__name__)

HttpHeader = tuple[bytes, bytes]

JSON: Final = b"application/json"
OCTETS: Final = b"application/octet-stream"

# Data, never a document: a browser that is pointed at a value must not run or frame it.
SECURITY_HEADERS: Final[tuple[HttpHeader, ...]] = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_NO_STORE: Final[HttpHeader] = (b"cache-control", b"no-store")
RETRY_AFTER_S: Final = b"1"

_encode = msgspec.json.Encoder().encode


class HttpAnswer:
    """One answer; an ASGI application, as Starlette's responses are."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: Sequence[HttpHeader], body: bytes = b"") -> None:
        self.status = status
        self.headers = headers
        self.body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body})


def document(value: Any, *headers: HttpHeader, status: int = 200) -> HttpAnswer:
    """A JSON document made here."""
    return body_of(_encode(value), JSON, *headers, status=status)


def body_of(body: bytes, media_type: bytes, *headers: HttpHeader, status: int = 200) -> HttpAnswer:
    """Any body that must not be kept by caches."""
    every = ((b"content-type", media_type), _NO_STORE, *SECURITY_HEADERS, *headers)
    return HttpAnswer(status, every, body)


def problem_answer(error: LastwordError) -> HttpAnswer:
    """The answer to a request that ended with ``error``."""
    problem = problem_of(error)
    if problem.status == 500 and not isinstance(error, RefusedError):
        log.error("answered with 500: %s", problem.name, exc_info=error)
    headers: list[HttpHeader] = []
    if isinstance(error, RefusedError):
        headers += [(name.encode(), value.encode()) for name, value in error.headers.items()]
    if isinstance(error, ConflictError) and error.version is not None:
        headers.append((b"etag", b'"%d:%d"' % error.version))
    if problem.status == 503:
        headers.append((b"retry-after", RETRY_AFTER_S))
    return body_of(_encode(problem), b"application/problem+json", *headers, status=problem.status)


def encoded_problem(error: LastwordError) -> bytes:
    """The problem alone, for a place inside another document."""
    problem: Problem = problem_of(error)
    return _encode(problem)
