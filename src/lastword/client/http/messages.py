"""Requests and answers, and the bytes of a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from urllib.parse import urlencode

from lastword.errors import ConfigError


class Repeat(Enum):
    """Whether a request may be sent again after its answer was lost."""

    FREELY = "a read, or a write with the same result however often it is done"
    CONDITIONAL = "done at most once, because its condition no longer holds afterwards"
    NEVER = "a repetition might undo later writes of others"


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request; ``target`` is the escaped path with its query.

    ``key`` is the raw key that it is about, if it is about one: its owner may be asked directly.
    ``reflects`` marks a read that has to reflect what this client wrote before. What that is, and
    whether the service remembers it, is known when the request is sent.
    """

    method: str
    target: str
    body: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()
    repeat: Repeat = Repeat.FREELY
    key: bytes | None = None
    reflects: bool = False


@dataclass(slots=True)
class HttpResponse:
    """One answer; the names of headers are in lower case."""

    status: int
    headers: Mapping[bytes, bytes]
    body: bytes = b""


def with_query(target: str, **parameters: str) -> str:
    """The target with more parameters in its query."""
    return f"{target}{'&' if '?' in target else '?'}{urlencode(parameters)}"


def rendered(request: HttpRequest, fixed_headers: bytes) -> bytes:
    """The bytes of the request; ``fixed_headers`` are those of every request to that server."""
    own = "".join(f"{name}: {value}\r\n" for name, value in request.headers)
    if "\n" in request.target or "\r" in request.target or own.count("\n") != len(request.headers):
        raise ConfigError("a header or a path contains a line break", hint="remove it")
    head = f"{request.method} {request.target} HTTP/1.1\r\n{own}".encode("latin-1")
    if request.body is None:
        return head + fixed_headers + b"\r\n"
    length = b"content-length: %d\r\ncontent-type: application/json\r\n" % len(request.body)
    return b"".join((head, length, fixed_headers, b"\r\n", request.body))
