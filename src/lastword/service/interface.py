"""The whole interface, operation by operation."""

from __future__ import annotations

from msgspec import Raw

from lastword.service import routes_keys as keys
from lastword.service import shapes
from lastword.service.auth import Access
from lastword.service.operations import Content, Operation

_KEY = "/tables/{table}/keys/{key:path}"
_VALUE = Content("the value, as JSON", Raw, headers=("ETag", "Lastword-Timestamp"))
_VALUE_BODY = (
    Content("the value, as JSON", Raw),
    Content("the bytes to store", bytes, "application/octet-stream"),
)
_WRITTEN = Content("written, and readable here", shapes.Written, headers=("ETag",))

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="get_key",
        method="GET",
        path=_KEY,
        mounted="/{key:path}",
        serves="plain tables",
        summary="The value of a key",
        access=Access.READ,
        handler=keys.get_key,
        query=shapes.KeyQuery,
        answer=_VALUE,
        problems=(503,),
    ),
    Operation(
        id="put_key",
        method="PUT",
        path=_KEY,
        mounted="/{key:path}",
        serves="plain tables",
        summary="Write a value",
        access=Access.WRITE,
        handler=keys.put_key,
        query=shapes.WriteQuery,
        body=_VALUE_BODY,
        answer=_WRITTEN,
    ),
    Operation(
        id="delete_key",
        method="DELETE",
        path=_KEY,
        mounted="/{key:path}",
        serves="plain tables",
        summary="Delete a key by writing a tombstone",
        access=Access.WRITE,
        handler=keys.delete_key,
        query=shapes.WriteQuery,
        answer=_WRITTEN,
    ),
)
