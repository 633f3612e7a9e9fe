"""What an operation is: one row of the interface, from which routes, rights and document follow."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.types import ASGIApp, Receive, Scope

from lastword.errors import LastwordError
from lastword.records import Position
from lastword.service.api.context import Context
from lastword.service.api.served import ServedTable
from lastword.service.api.shapes import NoHeaders, NoQuery
from lastword.service.http.auth import Access, Authenticator, Caller
from lastword.service.http.body import media_type_of, read_body, refuse_codings
from lastword.service.http.leaving import Stopping, while_connected
from lastword.service.http.pool import Pool
from lastword.service.http.problems import RefusedError

Method = Literal["GET", "PUT", "POST", "DELETE"]
Serves = Literal["service", "every table", "plain tables", "windowed tables"]
Q = TypeVar("Q", bound=msgspec.Struct)
R = TypeVar("R")

_PARAMETERS_MAX = 32


class RequestCall:
    """One request, on its way to its handler."""

    __slots__ = (
        "_auth",
        "_query_string",
        "_served",
        "caller",
        "context",
        "headers",
        "path_parameters",
        "query",
        "receive",
    )

    def __init__(
        self, context: Context, scope: Scope, receive: Receive, served: ServedTable | None
    ) -> None:
        self.context = context
        self.caller: Caller = scope["lastword.caller"]
        self.headers: Mapping[bytes, bytes] = scope["lastword.headers"]
        self.path_parameters: Mapping[str, str] = scope["path_params"]
        self.receive = receive
        self._auth: Authenticator = scope["lastword.auth"]
        self._query_string: bytes = scope["query_string"]
        self._served = served
        self.query: Any = None

    @property
    def served(self) -> ServedTable:
        """The table of an operation on a table."""
        if self._served is None:
            raise RuntimeError("this operation is not about a table")
        return self._served

    def read_query(self, kind: type[msgspec.Struct]) -> None:
        """Validate the query string; from here on ``query`` is one of ``kind``."""
        self.query = parse_query(self._query_string, kind)

    async def body(self) -> bytes:
        """The body, within the limits."""
        refuse_codings(self.headers)
        context = self.context
        declared = self.headers.get(b"content-length")
        return await read_body(self.receive, declared, context.limits, context.body_deadlines)

    def media_type(self) -> bytes:
        """JSON or octets."""
        return media_type_of(self.headers.get(b"content-type"))

    async def run_until_left(self, pool: Pool, function: Callable[[Stopping], R]) -> R:
        """Run ``function`` on a thread of ``pool``; it can check whether the client has left."""
        stopped = threading.Event()
        try:
            return await while_connected(self.receive, pool.run(function, stopped.is_set))
        finally:
            stopped.set()

    def require_still(self, needed: Access) -> None:
        """Refuse if the token was revoked, or lost this right, since the request came in."""
        given = self.headers.get(b"authorization")
        self._auth.caller(given, fresh=True).require(needed, self.served.name)


OperationHandler = Callable[[RequestCall], Awaitable[ASGIApp]]


@dataclass(frozen=True)
class Content:
    """One kind of answer or request body, for the document."""

    description: str
    kind: Any = None
    media_type: str = "application/json"
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One method on one path. ``mounted`` is its path below the mount of a table, if it has one."""

    id: str
    method: Method
    path: str
    summary: str
    access: Access
    handler: OperationHandler
    serves: Serves
    answer: Content
    query: type[msgspec.Struct] = NoQuery
    headers: type[msgspec.Struct] = NoHeaders
    body: Content | None = None
    problems: tuple[int, ...] = ()
    also: Mapping[int, Content] = field(default_factory=dict)
    mounted: str | None = None

    def covers(self, served: ServedTable) -> bool:
        """Whether ``served`` has this operation."""
        if self.serves == "service":
            return False
        if self.serves == "every table":
            return True
        return (served.windows is None) == (self.serves == "plain tables")


def parse_position(text: str) -> Position:
    """A position from a page or an event."""
    try:
        return Position.parse(text)
    except LastwordError as error:
        raise RefusedError(
            400, "BadPosition", str(error), hint="a position is 0:12,1:7, as pages and events have"
        ) from error


def read_document(body: bytes, kind: type[Q], name: str) -> Q:
    """The body as ``kind``; a body that does not fit is refused under that name."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (ValueError, RecursionError) as error:
        raise RefusedError(
            400,
            name,
            f"the body is not valid: {error}",
            hint=f"see {kind.__name__} in /openapi.json",
        ) from error


def parse_query(query_string: bytes, kind: type[Q]) -> Q:
    """The parameters as ``kind``: unknown, repeated and malformed ones are refused."""
    try:
        if not query_string:  # nearly always
            empty: Q = _no_parameters(kind)
            return empty
        return msgspec.convert(_pairs(query_string), kind, strict=False)
    except ValueError as error:
        accepted = ", ".join(each.encode_name for each in msgspec.structs.fields(kind))
        raise RefusedError(
            400,
            "BadParameter",
            f"the query is not valid: {error}",
            hint=f"parameters here: {accepted}" if accepted else "there are no parameters here",
        ) from error


@cache
def _no_parameters(kind: type[Q]) -> Q:
    """The query without parameters, one for all requests: none is ever changed."""
    return msgspec.convert({}, kind)


def _pairs(query_string: bytes) -> dict[str, str]:
    pairs = parse_qsl(
        query_string.decode("ascii"),
        keep_blank_values=True,
        errors="strict",
        max_num_fields=_PARAMETERS_MAX,
    )
    given = dict(pairs)
    if len(given) != len(pairs):
        raise ValueError("a parameter is given more than once")
    return given
