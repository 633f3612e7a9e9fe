"""Assembles the interface: operations become routes, behind the admission checks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from time import perf_counter_ns

from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from lastword.errors import LastwordError
from lastword.metrics import Counter, Latency
from lastword.service.api.context import Context
from lastword.service.api.interface import OPERATIONS
from lastword.service.api.openapi import openapi_document
from lastword.service.api.operations import Operation, RequestCall
from lastword.service.api.routes_dashboard import DASHBOARD
from lastword.service.api.served import ServedTable
from lastword.service.http.admission import Admission, KeyRoute
from lastword.service.http.answers import HttpAnswer, problem_answer
from lastword.service.http.auth import Access, Authenticator, Caller, no_such_path
from lastword.service.http.last_resort import LastResort
from lastword.service.http.problems import RefusedError

_LONGER_FIRST = 9  # more than a part of a path can count


def build_app(context: Context, auth: Authenticator) -> ASGIApp:
    """The whole service as one ASGI application."""
    context.openapi = openapi_document(context, OPERATIONS)
    paths = _paths(context)
    # One route per path; one with fixed text goes before one with a key in the same place.
    routes = [_route(path, paths[path]) for path in sorted(paths, key=_generality)]
    router = Router(routes=routes, redirect_slashes=False, default=_no_such_path)
    return Admission(context, auth, LastResort(router), _key_routes(context, paths))


def _paths(context: Context) -> dict[str, _Path]:
    paths: dict[str, _Path] = {}
    for operation in (*OPERATIONS, *DASHBOARD):
        paths.setdefault(operation.path, _Path(context, None)).add(operation)
        for served in context.tables.values():
            if served.path and operation.mounted is not None and operation.covers(served):
                full = served.path + operation.mounted
                paths.setdefault(full, _Path(context, served)).add(operation)
    return paths


def _key_routes(context: Context, paths: Mapping[str, _Path]) -> dict[bytes, KeyRoute]:
    """The routes of keys, by what comes before the key in the path."""
    anywhere = "/tables/{table}/keys"
    routes: dict[bytes, KeyRoute] = {}
    for served in context.tables.values():
        if served.windows is None:
            head = f"/tables/{served.name}/keys".encode()
            routes[head] = _key_route(paths, anywhere, {"table": served.name})
            if served.path is not None:
                routes[served.path.encode()] = _key_route(paths, served.path, {})
    return routes


def _key_route(paths: Mapping[str, _Path], head: str, parameters: Mapping[str, str]) -> KeyRoute:
    key = f"{head}/{{key:path}}"
    after = {
        path.removeprefix(f"{key}/").encode(): found
        for path, found in paths.items()
        if path.startswith(f"{key}/")
    }
    return KeyRoute(parameters, paths[key], after)


def _route(path: str, handler: _Path) -> Route:
    """For other methods, the text after a key in a path may be part of the key."""
    follows_a_key = ":path}/" in path
    return Route(path, handler, methods=list(handler.methods) if follows_a_key else None)


def _generality(path: str) -> list[int]:
    parts = [part.count("{") + part.count(":path") for part in path.split("/")]
    return [*parts, _LONGER_FIRST]


class _Path:
    """Everything one path can do. The table is the one mounted there, else the path names it."""

    def __init__(self, context: Context, mounted: ServedTable | None) -> None:
        self._context = context
        self._mounted = mounted
        self._operations: dict[str, Operation] = {}
        self._figures: dict[tuple[str, int], tuple[Counter, Latency]] = {}

    @property
    def methods(self) -> Collection[str]:
        """The methods that it takes."""
        return self._operations.keys()

    def add(self, operation: Operation) -> None:
        """One more method."""
        self._operations[operation.method] = operation
        if operation.method == "GET" and operation.answer.media_type != "text/event-stream":
            self._operations["HEAD"] = operation

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self.answer(scope, receive)
        await answer(scope, receive, send)

    async def answer(self, scope: Scope, receive: Receive) -> ASGIApp:
        """The answer to a request, to be sent."""
        started_ns = perf_counter_ns()
        operation = self._operations.get(scope["method"])
        answer: ASGIApp
        try:
            self._require_visible(scope["lastword.caller"])
            if operation is None:
                raise _wrong_method(list(self._operations))
            answer = await self._call(operation, scope, receive)
        except LastwordError as error:
            answer = problem_answer(error)
        self._count(operation, answer, started_ns)
        if isinstance(answer, HttpAnswer):
            self._add_plan(answer, scope)
        return answer

    def _require_visible(self, caller: Caller) -> None:
        """To a caller who may not read its table, a mount looks like a missing path."""
        if self._mounted is not None and caller.access_to(self._mounted.name) < Access.READ:
            raise no_such_path(caller)

    async def _call(self, operation: Operation, scope: Scope, receive: Receive) -> ASGIApp:
        served = self._mounted
        caller = scope["lastword.caller"]
        if operation.serves == "service":
            caller.require(operation.access, None)
        else:
            # Rights first: a caller without access must not learn that a table exists.
            name = scope["path_params"]["table"] if served is None else served.name
            caller.require(operation.access, name)
            served = self._context.table(name)
            if not operation.covers(served):
                raise _wrong_kind(served)
        call = RequestCall(self._context, scope, receive, served)
        call.read_query(operation.query)
        return await operation.handler(call)

    def _add_plan(self, answer: HttpAnswer, scope: Scope) -> None:
        """Add the number of the plan, which tells a client that it knows an old one."""
        served = self._mounted or self._context.tables.get(scope["path_params"].get("table", ""))
        if served is None or not served.raw.routes:
            return
        if scope["lastword.caller"].access_to(served.name) < Access.READ:
            return
        cluster = served.table.cluster
        if cluster is not None and (plan := cluster.plan) is not None:
            answer.headers = (*answer.headers, (b"lastword-plan", b"%d" % plan.number))

    def _count(self, operation: Operation | None, answer: ASGIApp, started_ns: int) -> None:
        name = "none" if operation is None else operation.id
        status = answer.status if isinstance(answer, HttpAnswer) else 200
        figures = self._figures.get((name, status))
        if figures is None:
            metrics = self._context.metrics
            counter = metrics.counter("http_requests_total", operation=name, status=str(status))
            figures = counter, metrics.latency(name, name="http_request_seconds")
            self._figures[name, status] = figures
        counter, latency = figures
        counter.add()
        latency.observe_ns(perf_counter_ns() - started_ns)


def _wrong_method(allowed: Sequence[str]) -> RefusedError:
    methods = ", ".join(sorted(allowed))
    return RefusedError(405, "MethodNotAllowed", f"this path takes {methods}", allow=methods)


def _wrong_kind(served: ServedTable) -> RefusedError:
    if served.windows is None:
        return RefusedError(
            404,
            "NotWindowed",
            f"{served.name} has no windows",
            hint="use /tables/{table}/keys/{key}",
        )
    return RefusedError(
        404,
        "Windowed",
        f"a key of {served.name} has a value per window",
        hint="use /tables/{table}/windows/{key}",
    )


async def _no_such_path(scope: Scope, receive: Receive, send: Send) -> None:
    await problem_answer(no_such_path(scope["lastword.caller"]))(scope, receive, send)
