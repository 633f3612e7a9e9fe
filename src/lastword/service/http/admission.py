"""The outermost application: every request is checked here before anything else sees it.

A read of one key, by far the most frequent request, is answered here as well, with the same
checks and the same code as its route: finding that route would take as long as the read itself.
Other requests for one key go straight to their route: the router would try one after the other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from time import perf_counter_ns
from typing import NamedTuple, Protocol
from urllib.parse import unquote_to_bytes

from starlette.types import ASGIApp, Receive, Scope, Send

from lastword.errors import LastwordError
from lastword.metrics import Counter
from lastword.service.api.context import Context
from lastword.service.api.key_reads import read_key
from lastword.service.api.served import ServedTable
from lastword.service.http.answers import HttpAnswer, HttpHeader, problem_answer
from lastword.service.http.auth import Access, Authenticator, Caller
from lastword.service.http.cors import Cors
from lastword.service.http.last_resort import internal_error
from lastword.service.http.origin_check import OriginCheck
from lastword.service.http.problems import RefusedError

_SHORT_CUT = "get_key"
_REFUSED = "refused"


class KeyPath(Protocol):
    """Everything that one path with a key can do."""

    @property
    def methods(self) -> Collection[str]:
        """The methods that it takes."""

    async def answer(self, scope: Scope, receive: Receive) -> ASGIApp:
        """The answer to a request, to be sent."""


class KeyRoute(NamedTuple):
    """The paths of the keys of one table, and what else they say.

    ``after`` has those where text follows the key, such as ``increment``, by that text.
    """

    parameters: Mapping[str, str]
    key: KeyPath
    after: Mapping[bytes, KeyPath]


class Admission:
    """Checks path, host, origin and token; then the short cut, or the routes."""

    def __init__(
        self,
        context: Context,
        auth: Authenticator,
        routes: ASGIApp,
        key_routes: Mapping[bytes, KeyRoute],
    ) -> None:
        self._routes = routes
        self._key_routes = key_routes
        self._auth = auth
        self._origin_check = OriginCheck(context.config)
        self._cors = Cors(context.config)
        self._path_bytes = context.limits.path_bytes
        self._metrics = context.metrics
        self._latency = context.metrics.latency(_SHORT_CUT, name="http_request_seconds")
        self._counters: dict[tuple[str, int], Counter] = {}
        self._tables: dict[bytes, ServedTable] = {}
        for served in context.tables.values():
            if served.windows is None:
                self._tables[f"/tables/{served.name}/keys".encode()] = served
                if served.path is not None:
                    self._tables[served.path.encode()] = served
        # `/users/count` is not the key `count`; the route of that path knows.
        self._not_keys = frozenset(
            f"{served.path}/count".encode() for served in context.tables.values() if served.path
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        started_ns = perf_counter_ns()
        given: list[HttpHeader] = scope["headers"]
        headers = dict(given)
        operation = _REFUSED
        try:
            caller = self._admit(scope, headers, given)
            operation = _SHORT_CUT
            answer = self._short_cut(scope, headers, caller)
        except LastwordError as error:
            answer = problem_answer(error)
        except Exception as error:  # noqa: BLE001 - answered and logged
            answer = internal_error(scope, error)
        if answer is None:
            await self._route(scope, receive, send, headers, caller)
            return
        self._count(operation, answer.status, started_ns)
        await send(
            {"type": "http.response.start", "status": answer.status, "headers": answer.headers}
        )
        await send({"type": "http.response.body", "body": answer.body})

    async def _route(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        headers: Mapping[bytes, bytes],
        caller: Caller,
    ) -> None:
        if b"origin" in headers:
            if (preflight := self._cors.preflight(scope["method"], headers)) is not None:
                await preflight(scope, receive, send)
                return
            send = self._cors.wrapped(send, headers)
        scope["lastword.auth"] = self._auth
        scope["lastword.caller"] = caller
        scope["lastword.headers"] = headers
        path = self._key_path(scope)
        if path is None:
            # Routes go by the path as it was sent: an escaped slash belongs to a key.
            scope["path"] = scope["raw_path"].decode("ascii")
            await self._routes(scope, receive, send)
            return
        try:
            answer = await path.answer(scope, receive)
        except Exception as error:  # noqa: BLE001 - answered and logged
            answer = internal_error(scope, error)
        await answer(scope, receive, send)

    def _key_path(self, scope: Scope) -> KeyPath | None:
        """The path of a key without a slash; None for all others, which the router finds."""
        path: bytes = scope["raw_path"]
        head, _, text = path.rpartition(b"/")
        route = self._key_routes.get(head)
        if route is not None:
            if not text or path in self._not_keys:
                return None
            scope["path_params"] = {**route.parameters, "key": text.decode("ascii")}
            return route.key
        head, _, key = head.rpartition(b"/")
        route = self._key_routes.get(head)
        found = None if route is None or not key else route.after.get(text)
        if route is None or found is None or scope["method"] not in found.methods:
            return None
        scope["path_params"] = {**route.parameters, "key": key.decode("ascii")}
        return found

    def _admit(
        self, scope: Scope, headers: Mapping[bytes, bytes], given: list[HttpHeader]
    ) -> Caller:
        path: bytes = scope["raw_path"]
        if len(path) > self._path_bytes:
            raise RefusedError(
                414, "UriTooLong", f"the path has more than {self._path_bytes} bytes"
            )
        if not path.isascii():
            raise RefusedError(400, "BadPath", "the path is not escaped", hint="escape it as %XX")
        self._origin_check.check(scope["method"], headers, given)
        return self._auth.caller(headers.get(b"authorization"))

    def _short_cut(
        self, scope: Scope, headers: Mapping[bytes, bytes], caller: Caller
    ) -> HttpAnswer | None:
        """The answer to a read of one key; None when the request is for the routes."""
        if scope["method"] != "GET" or scope["query_string"] or b"origin" in headers:
            return None
        path: bytes = scope["raw_path"]
        head, _, text = path.rpartition(b"/")
        served = self._tables.get(head)
        if served is None or served.raw.routes or not text or path in self._not_keys:
            return None
        if caller.everywhere < Access.READ and caller.access_to(served.name) < Access.READ:
            return None  # the route knows how to refuse it
        key = served.raw_key(unquote_to_bytes(text) if b"%" in text else text)
        if served.raw.waits_for_writes(key):
            return None  # the route waits for what was written
        return read_key(served, key, headers)

    def _count(self, operation: str, status: int, started_ns: int) -> None:
        counter = self._counters.get((operation, status))
        if counter is None:
            counter = self._metrics.counter(
                "http_requests_total", operation=operation, status=str(status)
            )
            self._counters[operation, status] = counter
        counter.value += 1
        self._latency.observe_ns(perf_counter_ns() - started_ns)
