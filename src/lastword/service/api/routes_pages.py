"""Pages: keys in order, and the windows of one key, a bounded number at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from urllib.parse import unquote_to_bytes

from msgspec import UNSET, UnsetType

from lastword.service.api.key_reads import PLAIN_READ, ReadOptions, origin_headers
from lastword.service.api.keys import Encoding, from_base64url, to_base64url
from lastword.service.api.operations import RequestCall, read_document
from lastword.service.api.routes_keys import (
    current_entry,
    past_state,
    settle,
    ttl_in_headers,
    value_in_body,
    write,
)
from lastword.service.api.served import ServedTable
from lastword.service.api.shapes import (
    FoundItems,
    Item,
    Lookup,
    LookupQuery,
    Page,
    PageQuery,
    ReadQuery,
    WindowsQuery,
)
from lastword.service.http.answers import HttpAnswer, HttpHeader, document
from lastword.table.entry import RawEntry
from lastword.table.past_table import PastTable
from lastword.table.scan import Scan

# The windows of a key may have those of longer keys in between; this many are examined for one.
_EXAMINED_PER_ITEM = 100


async def get_page(call: RequestCall) -> HttpAnswer:
    """Some of the keys, from one on."""
    query: PageQuery = call.query
    past = await past_state(call, query)
    options = PLAIN_READ if past is not None else await settle(call, query)
    page_bytes = call.context.limits.page_bytes
    page, headers = await call.context.reads.run(
        _keys, call.served, past, query, options, page_bytes
    )
    return document(page, *headers)


async def lookup_keys(call: RequestCall) -> HttpAnswer:
    """The values of many keys."""
    query: LookupQuery = call.query
    wanted = read_document(await call.body(), Lookup, "BadLookup")
    options = await settle(call, query)
    served = call.served
    raws = [served.raw_key(key.encode(), query.encoding) for key in wanted.keys]
    page_bytes = call.context.limits.page_bytes
    found, headers = await call.context.reads.run(_found, served, raws, query, options, page_bytes)
    return document(found, *headers)


async def get_windows(call: RequestCall) -> HttpAnswer:
    """The windows of one key in a range of time."""
    query: WindowsQuery = call.query
    options = await settle(call, query)
    key = call.served.keys.parse(unquote_to_bytes(call.path_parameters["key"]))
    page, headers = await call.context.reads.run(
        _windows, call.served, key, query, options, call.context.limits.page_bytes
    )
    return document(page, *headers)


async def get_window(call: RequestCall) -> HttpAnswer:
    """The value of one key in one window."""
    query: ReadQuery = call.query
    return await current_entry(call, query, _window_in_path(call))


async def put_window(call: RequestCall) -> HttpAnswer:
    """Write the value of one key in one window."""
    ttl_ms = ttl_in_headers(call)
    return await write(call, _window_in_path(call), await value_in_body(call), ttl_ms)


async def delete_window(call: RequestCall) -> HttpAnswer:
    """Write a tombstone for one key in one window."""
    return await write(call, _window_in_path(call), None)


PageAnswer = tuple[Page, tuple[HttpHeader, ...]]


def _keys(
    served: ServedTable,
    past: PastTable | None,
    query: PageQuery,
    options: ReadOptions,
    page_bytes: int,
) -> PageAnswer:
    reverse = query.reverse == "true"
    low, high = served.bounds(
        _given(query.prefix), _given(query.from_), _given(query.to), query.encoding
    )
    if query.cursor is not UNSET:
        at = from_base64url(query.cursor.encode())
        if reverse:
            high = at if high is None else min(high, at)
        else:
            low = at + b"\0" if low is None else max(low, at + b"\0")
    if low is not None and high is not None and high < low:
        high = low
    if past is not None:
        scan = past.raw_scan(low, high, reverse=reverse)
    else:
        scan = options.of(served.raw).scan(low, high, reverse=reverse, **options.arguments)
    with scan:
        return _page(served, scan, islice(scan, query.limit), query.encoding, page_bytes)


def _found(
    served: ServedTable,
    raws: Sequence[bytes],
    query: LookupQuery,
    options: ReadOptions,
    page_bytes: int,
) -> tuple[FoundItems, tuple[HttpHeader, ...]]:
    """As many of the keys as fit into one answer, and how many did not."""
    answer = options.of(served.raw).get_many(raws, **options.arguments)
    entries = {entry.key: entry for entry in answer.value}
    items: list[Item] = []
    size = done = 0
    for raw in raws:
        if size >= page_bytes:
            break
        done += 1
        entry = entries.pop(raw, None)
        item = None if entry is None else served.item(entry, query.encoding)
        if entry is not None and item is not None:
            items.append(item)
            size += len(entry.value) + len(raw)
    age_s = round(answer.contact_age_s, 3)
    found = FoundItems(items, len(raws) - done, str(answer.position), answer.stale, age_s)
    return found, origin_headers(answer)


def _windows(
    served: ServedTable, key: bytes, query: WindowsQuery, options: ReadOptions, page_bytes: int
) -> PageAnswer:
    codec = served.windows
    if codec is None:
        raise RuntimeError("only windowed tables have this operation")
    until_ms = None if query.to is UNSET else max(query.from_, query.to)
    low, high = codec.time_bounds(codec.inner.decode(key), query.from_, until_ms)
    length, home = len(low), served.raw.keyspace.partition_of(low)
    if query.cursor is not UNSET:
        low = min(high, max(low, from_base64url(query.cursor.encode()) + b"\0"))
    scan = options.of(served.raw).scan(low, high, partitions=(home,), **options.arguments)
    with scan:
        entries = _at_most(
            scan, query.limit, query.limit * _EXAMINED_PER_ITEM, lambda e: len(e.key) == length
        )
        return _page(served, scan, entries, "text", page_bytes)


def _page(
    served: ServedTable,
    scan: Scan[RawEntry],
    entries: Iterable[RawEntry | bytes],
    encoding: Encoding,
    page_bytes: int,
) -> PageAnswer:
    """The page of ``entries``, which come from ``scan`` and end before it does or with it.

    An entry that is not wanted comes as its key, which shows how far the page has looked.
    """
    items: list[Item] = []
    last: bytes | None = None
    size = 0
    for entry in entries:
        if isinstance(entry, bytes):
            last = entry
            continue
        last = entry.key
        item = served.item(entry, encoding)
        if item is not None:
            items.append(item)
            size += len(entry.value) + len(entry.key)
            if size >= page_bytes:
                break
    more = next(scan, None) is not None
    page = Page(
        items=items,
        next=to_base64url(last) if more and last is not None else None,
        position=str(scan.position),
        stale=scan.stale,
        contact_age_seconds=round(scan.contact_age_s, 3),
    )
    return page, origin_headers(scan)


def _at_most(
    scan: Scan[RawEntry], wanted: int, examined: int, fits: Callable[[RawEntry], bool]
) -> Iterator[RawEntry | bytes]:
    for entry in islice(scan, examined):
        if not fits(entry):
            yield entry.key
            continue
        yield entry
        wanted -= 1
        if wanted == 0:
            return


def _window_in_path(call: RequestCall) -> bytes:
    parameters = call.path_parameters
    return call.served.window_key(unquote_to_bytes(parameters["key"]), parameters["window"])


def _given(value: str | UnsetType) -> str | None:
    return None if value is UNSET else value
