"""The whole interface, operation by operation: where it is, who may use it, what it answers."""

from __future__ import annotations

from msgspec import Raw

from lastword.service.api import (
    routes_keys,
    routes_pages,
    routes_tables,
    shapes,
    shapes_status,
)
from lastword.service.api.interface_owned import OWNED_OPERATIONS
from lastword.service.api.operations import Content, Operation
from lastword.service.cluster.interface_cluster import OWNERS
from lastword.service.http.auth import Access
from lastword.service.observe.interface_schema import SCHEMA_OPERATIONS
from lastword.service.observe.interface_service import SERVICE_OPERATIONS
from lastword.service.watch.interface_watch import WATCH

_KEYS = "/tables/{table}/keys"
_KEY = "/tables/{table}/keys/{key:path}"
_WINDOWS = "/tables/{table}/windows/{key}"
_WINDOW = "/tables/{table}/windows/{key}/{window}"

_VALUE = Content(
    "the value, as JSON",
    Raw,
    headers=(
        "ETag",
        "Lastword-Timestamp",
        "Lastword-Contact-Age",
        "Lastword-TTL",
        "Lastword-Expires-At",
        "Lastword-Staleness",
        "Lastword-Answered-By",
        "Lastword-Plan",
    ),
)
_NOT_MODIFIED = Content("the caller has this version already", headers=("ETag",))
_VALUE_BODY = Content(
    "the value, as JSON; or, as application/octet-stream, the very bytes to store", Raw
)
_WRITTEN = Content("written, and readable here", shapes.WriteAnswer, headers=("ETag",))
_WRITE_PROBLEMS = (404, 408, 413, 415, 502, 503, 504)
_CONDITION_PROBLEMS = (*_WRITE_PROBLEMS, 412, 428)
_READ_PROBLEMS = (404, 503)
_PAST_PROBLEMS = (*_READ_PROBLEMS, 410, 507)

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
        headers=shapes.ReadHeaders,
        answer=_VALUE,
        also={304: _NOT_MODIFIED},
        problems=(*_PAST_PROBLEMS, 500),
    ),
    Operation(
        id="put_key",
        method="PUT",
        path=_KEY,
        mounted="/{key:path}",
        serves="plain tables",
        summary="Write a value; If-Match and If-None-Match: * make it conditional",
        access=Access.WRITE,
        handler=routes_keys.put_key,
        query=shapes.WriteQuery,
        headers=shapes.PutHeaders,
        body=_VALUE_BODY,
        answer=_WRITTEN,
        problems=_CONDITION_PROBLEMS,
    ),
    Operation(
        id="delete_key",
        method="DELETE",
        path=_KEY,
        mounted="/{key:path}",
        serves="plain tables",
        summary="Write a tombstone for a key, whether it exists or not; If-Match is a condition",
        access=Access.WRITE,
        handler=routes_keys.delete_key,
        query=shapes.WriteQuery,
        headers=shapes.WriteHeaders,
        answer=_WRITTEN,
        problems=_CONDITION_PROBLEMS,
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
        problems=_PAST_PROBLEMS,
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
        body=Content("the writes", shapes.WriteBatch),
        answer=Content("an outcome for each", shapes.BatchAnswer),
        problems=_WRITE_PROBLEMS,
    ),
    Operation(
        id="lookup_keys",
        method="POST",
        path="/tables/{table}/lookup",
        serves="every table",
        summary="The values of many keys, as of one moment",
        access=Access.READ,
        handler=routes_pages.lookup_keys,
        query=shapes.LookupQuery,
        body=Content("the keys", shapes.Lookup),
        answer=Content("those that exist", shapes.FoundItems),
        problems=(*_READ_PROBLEMS, 408, 413, 415),
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
        answer=Content("the number", shapes.KeyCount),
        problems=_READ_PROBLEMS,
    ),
    WATCH,
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
        headers=shapes.ReadHeaders,
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
        headers=shapes.PutHeaders,
        body=_VALUE_BODY,
        answer=_WRITTEN,
        problems=_CONDITION_PROBLEMS,
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
        headers=shapes.WriteHeaders,
        answer=_WRITTEN,
        problems=_CONDITION_PROBLEMS,
    ),
)

_ABOUT_TABLES = (
    Operation(
        id="list_tables",
        method="GET",
        path="/tables",
        serves="service",
        summary="The tables that the caller may read",
        access=Access.READ,
        handler=routes_tables.list_tables,
        answer=Content("the tables", shapes_status.Tables),
    ),
    Operation(
        id="get_table",
        method="GET",
        path="/tables/{table}",
        serves="every table",
        summary="State, partitions, positions, lag and restore progress of a table",
        access=Access.READ,
        handler=routes_tables.get_table,
        answer=Content("the status", shapes_status.TableStatus),
        problems=(404, 503),
    ),
    Operation(
        id="get_log",
        method="GET",
        path="/tables/{table}/log",
        serves="every table",
        summary="The records of one key that are still in the log, tombstones included",
        access=Access.READ,
        handler=routes_tables.get_history,
        query=shapes_status.HistoryQuery,
        answer=Content("the records, oldest first", shapes_status.LoggedHistory),
        problems=(404, 503),
    ),
    Operation(
        id="get_series",
        method="GET",
        path="/tables/{table}/series",
        serves="every table",
        summary="The figures of a table over the last half hour",
        access=Access.READ,
        handler=routes_tables.get_series,
        query=shapes_status.SeriesQuery,
        answer=Content("columns of figures", shapes_status.Series),
        problems=(404,),
    ),
    Operation(
        id="get_compaction",
        method="GET",
        path="/tables/{table}/compaction",
        serves="every table",
        summary="The progress of compaction, and what holds it back",
        access=Access.READ,
        handler=routes_tables.get_compaction,
        answer=Content("partition by partition", shapes_status.Compaction),
        problems=(404, 503),
    ),
    Operation(
        id="survey",
        method="POST",
        path="/tables/{table}/survey",
        serves="every table",
        summary="Count the records of the log by reading all of it",
        access=Access.ADMIN,
        handler=routes_tables.survey,
        answer=Content("compaction with its contents", shapes_status.Compaction),
        problems=(404, 503),
    ),
    OWNERS,
    *SCHEMA_OPERATIONS,
)

OPERATIONS: tuple[Operation, ...] = (
    *OWNED_OPERATIONS,
    *_ONE_KEY,
    *_MANY_KEYS,
    *_WINDOWED,
    *_ABOUT_TABLES,
    *SERVICE_OPERATIONS,
)
