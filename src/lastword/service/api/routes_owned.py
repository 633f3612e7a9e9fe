"""What the owner of a key's partition decides: conditional writes, named operations, safe reads."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import UNSET, Raw

from lastword.records import ABSENT, Absent, Version
from lastword.service.api.conditions import condition_in
from lastword.service.api.key_reads import entry_answer
from lastword.service.api.operations import RequestCall, read_document
from lastword.service.api.owned_requests import owners_of, written_entry, written_version
from lastword.service.api.served import ServedTable
from lastword.service.api.shapes import (
    DeleteRecord,
    OperationAnswer,
    PutRecord,
    Transaction,
    TransactionAnswer,
    WriteAnswer,
    WriteQuery,
)
from lastword.service.http.answers import HttpAnswer, document
from lastword.service.http.problems import RefusedError
from lastword.table.entry import RawEntry, raw_entry
from lastword.writer.owned.requests import Applied, Current, Read

_WRITTEN_HEADERS = document(WriteAnswer("0:0")).headers
_read_json = msgspec.json.Decoder().decode
_ONE = b"1"


async def get_from_owner(call: RequestCall, key: bytes) -> HttpAnswer:
    """The value of a key as the owner of its partition knows it."""
    served = call.served
    answer = await call.context.owned_requests.ask(owners_of(served), Read(key=key))
    if not isinstance(answer, Current):
        raise RuntimeError(f"a read cannot be answered with {answer!r}")
    partition = served.raw.keyspace.partition_of(key)
    entry = None if answer.row is None else raw_entry(partition, key, answer.row)
    return entry_answer(served, entry, None, call.headers)


async def write_by_owner(
    call: RequestCall,
    key: bytes,
    value: bytes | None,
    ttl_ms: int | None,
    expected: Version | Absent | None,
) -> HttpAnswer:
    """Write one record if the key has the expected version; answer with the new one."""
    context, served = call.context, call.served
    owned = owners_of(served)
    request = owned.put_request(key, value, ttl_ms, expected)
    answer = await context.owned_requests.ask(owned, request)
    version = written_version(served, key, answer)
    if version is None:
        raise RuntimeError("a put leaves no key as it was")
    return written_answer(version)


def written_answer(version: Version) -> HttpAnswer:
    """A ``WriteAnswer``: the most frequent answer to a write, and always the same but for this."""
    text = b'"%d:%d"' % version
    return HttpAnswer(200, (*_WRITTEN_HEADERS, (b"etag", text)), b'{"version":%b}' % text)


async def increment(call: RequestCall) -> HttpAnswer:
    """Add the number in the body, or 1, to the value."""
    return await _operate(call, "increment", _argument(await call.body() or _ONE))


async def merge(call: RequestCall) -> HttpAnswer:
    """Merge the object in the body into the value."""
    return await _operate(call, "merge", _argument(await call.body()))


async def append(call: RequestCall) -> HttpAnswer:
    """Add the item in the body to the list."""
    return await _operate(call, "append", _argument(await call.body()))


async def put_if_greater(call: RequestCall) -> HttpAnswer:
    """Write the value in the body if it is greater than the current one."""
    served = call.served
    raw = served.values.from_json(await call.body())
    return await _operate(call, "put_if_greater", served.decoder.value.decode(raw))


async def _operate(call: RequestCall, operation: str, argument: Any) -> HttpAnswer:
    context, served = call.context, call.served
    query: WriteQuery = call.query
    key = served.raw_key(unquote_to_bytes(call.path_parameters["key"]), query.encoding)
    served.require_readable(key)
    owned = owners_of(served)
    answer = await context.owned_requests.ask(owned, owned.request(key, operation, argument))
    entry = written_entry(served, key, answer)
    if entry is None:
        raise RuntimeError(f"{operation} deletes no key")
    return _operated(call, entry)


async def transact(call: RequestCall) -> HttpAnswer:
    """Write several keys, all or none."""
    context, served = call.context, call.served
    query: WriteQuery = call.query
    asked = read_document(await call.body(), Transaction, "BadTransaction")
    owned = owners_of(served)
    required = served.conditions_required
    writes: dict[bytes, bytes | None] = {}
    expected: dict[bytes, Version | Absent] = {}
    for record in asked.records:
        key = served.raw_key(record.key.encode(), query.encoding)
        writes[key] = _value_to_write(served, key, record)
        condition = condition_in(record.if_version, required=required)
        if condition is not None:
            expected[key] = condition
    for check in asked.checks:
        key = served.raw_key(check.key.encode(), query.encoding)
        condition = condition_in(check.if_version, required=True)
        expected[key] = ABSENT if condition is None else condition
    if len(writes) != len(asked.records):
        raise RefusedError(400, "BadTransaction", "a key is written twice", hint="name it once")
    answer = await context.owned_requests.ask(owned, owned.transaction(writes, expected))
    written_version(served, next(iter(writes)), answer)
    if not isinstance(answer, Applied):
        raise RuntimeError(f"a transaction cannot be answered with {answer!r}")
    return document(TransactionAnswer([str(version) for version in answer.versions]))


def _value_to_write(
    served: ServedTable, key: bytes, record: PutRecord | DeleteRecord
) -> bytes | None:
    if isinstance(record, DeleteRecord):
        return None
    if record.ttl is not UNSET:
        raise RefusedError(
            400,
            "BadTransaction",
            "a record of a transaction cannot have a ttl",
            hint="omit ttl; the ttl of the table applies",
        )
    served.require_readable(key)
    return served.values.from_json(bytes(record.value))


def _operated(call: RequestCall, entry: RawEntry) -> HttpAnswer:
    version = str(entry.version)
    value = Raw(call.served.decoder.json_of(entry.value, entry.headers))
    expires_at = UNSET if entry.expires_at_ms is None else entry.expires_at_ms
    answer = OperationAnswer(version, value, entry.timestamp_ms, expires_at)
    return document(answer, (b"etag", f'"{version}"'.encode()))


def _argument(body: bytes) -> Any:
    try:
        return _read_json(body)
    except (ValueError, RecursionError) as error:
        raise RefusedError(
            400, "BadArgument", f"the body is not JSON: {error}", hint="send one JSON document"
        ) from error
