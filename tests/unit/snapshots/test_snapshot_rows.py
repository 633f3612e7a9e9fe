"""Rows that a store gets from a snapshot are those that a follower would have written."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from lastword.records import NO_HEADERS, REQUEST_HEADER, Headers
from lastword.rows import encode_row
from lastword.snapshots.catalog.layout import HEADERS, TIMESTAMP
from lastword.snapshots.travel.snapshot_source import store_rows

COLUMNS = [
    ("key", pa.binary()),
    ("value", pa.large_binary()),
    ("headers", HEADERS),
    ("offset", pa.int64()),
    ("timestamp", TIMESTAMP),
]
REQUEST = (REQUEST_HEADER, bytes(16))
TRACE = ("trace", b"1")


def row_of_headers(headers: Headers) -> bytes:
    """The row of a key with these headers, as a bootstrap makes it."""
    pairs: list[dict[str, Any]] = [{"key": name, "value": value} for name, value in headers]
    given = [[b"a"], [b"1"], [pairs or None], [7], [1_000_000]]
    arrays = [pa.array(one, type_) for one, (_, type_) in zip(given, COLUMNS, strict=True)]
    batch = pa.RecordBatch.from_arrays(arrays, [name for name, _ in COLUMNS])
    return store_rows(batch)[b"a"]


def test_rows_have_the_headers_that_users_gave_and_no_request_id() -> None:
    plain, traced = (encode_row(7, 1_000, headers, b"1") for headers in (NO_HEADERS, (TRACE,)))
    assert row_of_headers(()) == row_of_headers((REQUEST,)) == plain
    assert row_of_headers((TRACE,)) == row_of_headers((REQUEST, TRACE)) == traced
