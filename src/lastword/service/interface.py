"""The whole interface, operation by operation: where it is, who may use it, what it answers."""

from __future__ import annotations

from msgspec import Raw

from lastword.service import routes_keys, routes_pages, routes_watch, shapes
from lastword.service.auth import Access
from lastword.service.operations import Content, Operation

_KEYS = "/tables/{table}/keys"
_KEY = "/tables/{table}/keys/{key:path}"
_WINDOWS = "/tables/{table}/windows/{key}"
_WINDOW = "/tables/{table}/windows/{key}/{window}"

_VALUE = Content("the value, as JSON", Raw, headers=("ETag", "Lastword-Timestamp"))
_NOT_MODIFIED = Content("the caller has this version already", headers=("ETag",))
_VALUE_BODY = (
    Content("the value, as JSON", Raw),
    Content("the bytes to store", bytes, "application/octet-stream"),
)
_WRITTEN = Content("written, and readable here", shapes.Written, headers=("ETag",))
_WRITE_PROBLEMS = (400, 413, 415, 502, 503, 504)
_READ_PROBLEMS = (400, 404, 503)

_ONE_KEY = (
    Operation(
        id="get_key",
        method="GET",
        path=_KEY,
        mounted="/{key:path}",
        serves="plain tables",
        summary="The value of a key",
        access=Access.READ,
        handler=routes_keys.get_key,
        query=shapes.KeyQuery,
        answer=_VALUE,
        also={304: _NOT_MODIFIED},
        problems=(*_READ_PROBLEMS, 500),
    ),
    Operation(
        id="put_key",
        method="PUT",
        path=_KEY,
        mounted="/{key:path}",
        serves="plain tables",
        summary="Write a value",
        access=Access.WRITE,
        handler=routes_keys.put_key,
        query=shapes.WriteQuery,
        body=_VALUE_BODY,
        answer=_WRITTEN,
        problems=_WRITE_PROBLEMS,
    ),
    Operation(
        id="delete_key",
        method="DELETE",
        path=_KEY,
        mounted="/{key:path}",
        serves="plain tables",
        summary="Delete a key by writing a tombstone, whether it exists or not",
        access=Access.WRITE,
        handler=routes_keys.delete_key,
        query=shapes.WriteQuery,
        answer=_WRITTEN,
        problems=_WRITE_PROBLEMS,
    ),
)

_MANY_KEYS = (
    Operation(
        id="get_page",
        method="GET",
        path=_KEYS,
        mounted="",
        serves="every table",
        summary="Keys and values in the order of the keys' bytes",
        access=Access.READ,
        handler=routes_pages.get_page,
        query=shapes.PageQuery,
        answer=Content("a page", shapes.Page),
        problems=_READ_PROBLEMS,
    ),
    Operation(
        id="put_batch",
        method="POST",
        path=_KEYS,
        mounted="",
        serves="plain tables",
        summary="Write many values and tombstones, with an outcome for each",
        access=Access.WRITE,
        handler=routes_keys.put_batch,
        query=shapes.WriteQuery,
        body=(Content("the writes", shapes.Batch),),
        answer=Content("what became of each", shapes.BatchAnswer),
        problems=_WRITE_PROBLEMS,
    ),
    Operation(
        id="count_keys",
        method="GET",
        path="/tables/{table}/count",
        mounted="/count",
        serves="every table",
        summary="How many keys there are",
        access=Access.READ,
        handler=routes_keys.count_keys,
        query=shapes.ReadQuery,
        answer=Content("the number", shapes.Count),
        problems=_READ_PROBLEMS,
    ),
    Operation(
        id="watch",
        method="GET",
        path="/tables/{table}/watch",
        serves="every table",
        summary="Changes as server-sent events: start, put, delete, and lost when cut off",
        access=Access.READ,
        handler=routes_watch.watch,
        query=shapes.WatchQuery,
        answer=Content("events", str, "text/event-stream"),
        problems=(*_READ_PROBLEMS, 410),
    ),
)

_WINDOWED = (
    Operation(
        id="get_windows",
        method="GET",
        path=_WINDOWS,
        mounted="/{key}",
        serves="windowed tables",
        summary="The windows of a key in a range of time",
        access=Access.READ,
        handler=routes_pages.get_windows,
        query=shapes.WindowsQuery,
        answer=Content("a page, in the order of time", shapes.Page),
        problems=_READ_PROBLEMS,
    ),
    Operation(
        id="get_window",
        method="GET",
        path=_WINDOW,
        mounted="/{key}/{window}",
        serves="windowed tables",
        summary="The value of a key in one window (START, or START-END for a session)",
        access=Access.READ,
        handler=routes_pages.get_window,
        query=shapes.ReadQuery,
        answer=_VALUE,
        also={304: _NOT_MODIFIED},
        problems=(*_READ_PROBLEMS, 500),
    ),
    Operation(
        id="put_window",
        method="PUT",
        path=_WINDOW,
        mounted="/{key}/{window}",
        serves="windowed tables",
        summary="Write the value of a key in one window",
        access=Access.WRITE,
        handler=routes_pages.put_window,
        body=_VALUE_BODY,
        answer=_WRITTEN,
        problems=_WRITE_PROBLEMS,
    ),
    Operation(
        id="delete_window",
        method="DELETE",
        path=_WINDOW,
        mounted="/{key}/{window}",
        serves="windowed tables",
        summary="Delete a key in one window",
        access=Access.WRITE,
        handler=routes_pages.delete_window,
        answer=_WRITTEN,
        problems=_WRITE_PROBLEMS,
    ),
)

OPERATIONS: tuple[Operation, ...] = (*_ONE_KEY, *_MANY_KEYS, *_WINDOWED)
