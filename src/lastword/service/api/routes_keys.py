"""Keys: read one, write one, write many, walk through them, count them."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from urllib.parse import unquote_to_bytes

from msgspec import UNSET

from lastword.errors import (
    ConflictError,
    DecodeError,
    EncodeError,
    LastwordError,
    MomentGoneError,
    NotReadyError,
)
from lastword.expiry import ttl_ms_of
from lastword.records import Version, Write
from lastword.service.api.conditions import condition_in, condition_of
from lastword.service.api.key_reads import (
    ReadOptions,
    entry_answer,
    origin_headers,
    read_key,
    read_options,
)
from lastword.service.api.operations import RequestCall, read_document
from lastword.service.api.position_wait import wait_for_versions, wait_for_writes
from lastword.service.api.routes_owned import get_from_owner, write_by_owner, written_answer
from lastword.service.api.served import ServedTable
from lastword.service.api.shapes import (
    BatchAnswer,
    BatchOutcome,
    DeleteRecord,
    KeyCount,
    KeyQuery,
    PutRecord,
    ReadQuery,
    WriteBatch,
    WriteQuery,
)
from lastword.service.http.answers import OCTETS, HttpAnswer, document
from lastword.service.http.problems import RefusedError, problem_of
from lastword.snapshots.travel.moments import parse_moment
from lastword.table.entry import RawEntry
from lastword.table.past_table import PastTable
from lastword.writer.outcome import Outcome, write_each


async def get_key(call: RequestCall) -> HttpAnswer:
    """The value of one key."""
    query: KeyQuery = call.query
    key = key_in_path(call, query)
    if query.as_of is not UNSET:
        entry = await past_entry(call, query, key)
        return entry_answer(call.served, entry, None, call.headers)
    if query.consistency == "linearizable":
        return await get_from_owner(call, key)
    return await current_entry(call, query, key)


async def put_key(call: RequestCall) -> HttpAnswer:
    """Write one value."""
    key = key_in_path(call, call.query)
    call.served.require_readable(key)
    ttl_ms = ttl_in_headers(call)
    return await write(call, key, await value_in_body(call), ttl_ms)


async def delete_key(call: RequestCall) -> HttpAnswer:
    """Write a tombstone."""
    return await write(call, key_in_path(call, call.query), None)


async def put_batch(call: RequestCall) -> HttpAnswer:
    """Write many values and tombstones, with an outcome per key."""
    refuse_conditions(call)
    query: WriteQuery = call.query
    if call.media_type() == OCTETS:
        raise RefusedError(415, "UnsupportedMediaType", "a batch is sent as application/json")
    batch = read_document(await call.body(), WriteBatch, "BadBatch")
    served = call.served
    prepared = [(record.key, _prepared(served, record, query)) for record in batch.records]
    written = await call.context.writes.run(write_each, served.raw.put_many, prepared)
    outcomes = [_batch_outcome(outcome, served) for outcome in written]
    return document(BatchAnswer(outcomes, sum(each.status != "ok" for each in outcomes)))


async def count_keys(call: RequestCall) -> HttpAnswer:
    """The number of keys."""
    query: ReadQuery = call.query
    options = await settle(call, query)
    raw = options.of(call.served.raw)
    # The first count of a RocksDB store walks through it.
    answer = await call.context.reads.run(raw.count, **options.arguments)
    return document(
        KeyCount(answer.value, str(answer.position), answer.stale, round(answer.contact_age_s, 3)),
        *origin_headers(answer),
    )


# -- shared with the windows -------------------------------------------------------------------


async def past_entry(call: RequestCall, query: KeyQuery, key: bytes) -> RawEntry | None:
    """The past value of a key: from the kept versions, if they go back that far."""
    refuse_reads_of_now(query)
    kept = call.served.raw.past
    if kept is not None and query.as_of is not UNSET:
        # The log, snapshots and the history may have an older one.
        with suppress(MomentGoneError, NotReadyError):
            moment = parse_moment(query.as_of)
            return await call.context.reads.run(kept.get, key, moment)
    past = await past_state(call, query)
    return None if past is None else past.raw_entry(key)


def refuse_reads_of_now(query: KeyQuery) -> None:
    """Refuse options of current reads on a read of the past."""
    if query.at_least is not UNSET or query.stale == "true":
        raise RefusedError(
            400,
            "BadParameter",
            "as_of reads the past; at_least and stale are only for current reads",
        )


async def past_state(call: RequestCall, query: KeyQuery) -> PastTable | None:
    """The past state that the read is of; None when it is of now."""
    if query.as_of is UNSET:
        return None
    refuse_reads_of_now(query)
    return await call.context.past_states.at(call.served, query.as_of, call.receive)


async def current_entry(call: RequestCall, query: ReadQuery, key: bytes) -> HttpAnswer:
    """The value of one key as it is now."""
    options = await settle(call, query, (call.served.raw.keyspace.partition_of(key),))
    if call.served.raw.routes:  # it may have to wait for another instance
        return await call.context.reads.run(read_key, call.served, key, call.headers, options)
    return read_key(call.served, key, call.headers, options)


async def settle(
    call: RequestCall, query: ReadQuery, partitions: Collection[int] | None = None
) -> ReadOptions:
    """Wait for what a read of these partitions, all by default, must reflect; how to read it."""
    context = call.context
    if query.at_least is not UNSET:
        await wait_for_versions(
            call.served, query.at_least, context.limits.at_least_s, context.clock
        )
    if query.stale != "true":
        await wait_for_writes(call.served, partitions, context.limits.at_least_s, context.clock)
    return read_options(query, call.served.raw, context.limits.at_least_s)


async def write(
    call: RequestCall, key: bytes, value: bytes | None, ttl_ms: int | None = None
) -> HttpAnswer:
    """Write one record, if its condition holds, and answer with its version."""
    served = call.served
    expected = condition_of(call.headers, required=served.conditions_required)
    if expected is not None or served.decided_by_owners:
        return await write_by_owner(call, key, value, ttl_ms, expected)
    # Straight to Kafka, on a thread of its own.
    version: Version = await call.context.writes.run(served.raw.put, key, value, ttl_ms=ttl_ms)
    return written_answer(version)


async def value_in_body(call: RequestCall) -> bytes:
    """The raw value that the body holds, in one of the two forms."""
    served = call.served
    if call.media_type() != OCTETS:
        return served.values.from_json(await call.body())
    raw = await call.body()
    try:
        served.decoder.value.decode(raw)
    except DecodeError as error:
        raise EncodeError(
            f"the bytes are {error}", hint="send a value that the table's codec can decode"
        ) from error
    return raw


def ttl_in_headers(call: RequestCall) -> int | None:
    """The time to live of a write; raises ConfigError if it is not a duration."""
    given = call.headers.get(b"lastword-ttl")
    return None if given is None else ttl_ms_of(given.decode("latin-1"))


def refuse_conditions(call: RequestCall) -> None:
    """Refuse conditions in headers: ignoring them would be worse."""
    if condition_of(call.headers, required=False) is not None:
        raise RefusedError(
            400,
            "BadCondition",
            "a batch has its conditions in its records, not in headers",
            hint="see if_version of PutRecord in /openapi.json",
        )


def key_in_path(call: RequestCall, query: KeyQuery | WriteQuery) -> bytes:
    """The raw key that the path names."""
    return call.served.raw_key(unquote_to_bytes(call.path_parameters["key"]), query.encoding)


def _prepared(
    served: ServedTable, record: PutRecord | DeleteRecord, query: WriteQuery
) -> Write | LastwordError:
    try:
        key = served.raw_key(record.key.encode(), query.encoding)
        expected = condition_in(record.if_version, required=served.conditions_required)
        if isinstance(record, DeleteRecord):
            return Write(key, None, expected=expected)
        served.require_readable(key)
        value = served.values.from_json(bytes(record.value))
        ttl_ms = None if record.ttl is UNSET else ttl_ms_of(record.ttl)
        return Write(key, value, expected=expected, ttl_ms=ttl_ms)
    except LastwordError as error:
        return error


def _batch_outcome(outcome: Outcome, served: ServedTable) -> BatchOutcome:
    if isinstance(error := outcome.error, ConflictError):
        error.current = served.shown_current(error.current)
    return BatchOutcome(
        key=outcome.key,
        status=outcome.status,
        version=UNSET if outcome.version is None else str(outcome.version),
        error=UNSET if outcome.error is None else problem_of(outcome.error),
    )
