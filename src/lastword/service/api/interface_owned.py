"""The named operations of the interface, which the owner of a key's partition carries out."""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from lastword.service.api import routes_owned, shapes
from lastword.service.api.operations import Content, Operation, OperationHandler
from lastword.service.http.auth import Access

_KEY = "/tables/{table}/keys/{key:path}"
_PROBLEMS = (404, 408, 413, 415, 502, 503, 504)


def _named(name: str, summary: str, handler: OperationHandler, argument: Content) -> Operation:
    return Operation(
        id=f"{name.replace('-', '_')}_key",
        method="POST",
        path=f"{_KEY}/{name}",
        mounted=f"/{{key:path}}/{name}",
        serves="plain tables",
        summary=summary,
        access=Access.WRITE,
        handler=handler,
        query=shapes.WriteQuery,
        body=argument,
        answer=Content("what the key holds now", shapes.OperationAnswer, headers=("ETag",)),
        problems=_PROBLEMS,
    )


_TRANSACT = Operation(
    id="transact",
    method="POST",
    path="/tables/{table}/transact",
    serves="plain tables",
    summary="Write several keys of one partition, all or none",
    access=Access.WRITE,
    handler=routes_owned.transact,
    query=shapes.WriteQuery,
    body=Content("the writes and conditions", shapes.Transaction),
    answer=Content("written, all of them", shapes.TransactionAnswer),
    problems=(*_PROBLEMS, 412, 428),
)

OWNED_OPERATIONS = (
    _TRANSACT,
    _named(
        "increment",
        "Add a number to the value; a missing key counts as 0",
        routes_owned.increment,
        Content("how much to add; 1 without a body", float),
    ),
    _named(
        "merge",
        "Merge an object into the value: a JSON merge patch (RFC 7396)",
        routes_owned.merge,
        Content("the patch", dict[str, Any]),
    ),
    _named(
        "append",
        "Add an item to a list; a missing key counts as an empty list",
        routes_owned.append,
        Content("the item", Raw),
    ),
    _named(
        "put-if-greater",
        "Write a value if it is greater than the current one",
        routes_owned.put_if_greater,
        Content("the value, as JSON", Raw),
    ),
)
