"""The operation by which a table is watched."""

from __future__ import annotations

from lastword.service.api.operations import Content, Operation
from lastword.service.http.auth import Access
from lastword.service.watch.routes_watch import watch
from lastword.service.watch.shapes_watch import WatchQuery

WATCH = Operation(
    id="watch",
    method="GET",
    path="/tables/{table}/watch",
    serves="every table",
    summary="Changes as server-sent events: start, put, delete, and lost when cut off",
    access=Access.READ,
    handler=watch,
    query=WatchQuery,
    answer=Content("events", str, "text/event-stream"),
    problems=(404, 503, 410),
)
