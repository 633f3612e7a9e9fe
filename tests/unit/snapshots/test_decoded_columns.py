"""Decoded columns of records whose headers hold a part of the value."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from lastword.codecs.base import Column
from lastword.codecs.batches import DecodedBatch
from lastword.codecs.columns.column_layout import ColumnLayout, Layout
from lastword.codecs.columns.type_tree import StructType
from lastword.codecs.columns.typed_column import TypedColumn
from lastword.codecs.defaults import WholeKey
from lastword.snapshots.catalog.decoded_columns import DecodedColumn
from lastword.snapshots.catalog.layout import HEADERS


class Labelled(WholeKey):
    name = "labelled"
    column = Column("string")
    id_header = "label"  # type: ignore[assignment]

    def encode(self, value: Any) -> bytes:
        return str(value).encode()

    def decode(self, data: bytes) -> Any:
        return data.decode()

    def column_value(self, data: bytes) -> Any:
        return self.decode(data)


def test_the_last_header_with_a_value_is_put_in_front() -> None:
    raw = pa.array([b"a", b"b", None, b"d", b"e", b""], pa.binary())
    headers: list[Any] = [
        [("other", b"0"), ("label", b"1"), ("label", b"2"), ("label", None)],
        None,
        [("label", b"3")],
        [],
        [("other", b"4")],
        [("label", b"5")],
    ]
    column = DecodedColumn("string", Labelled(), None)
    found = column.decoded(raw, pa.array(headers, HEADERS))
    assert (found.array.to_pylist(), found.unfit) == (["2a", "b", None, "d", "e", "5"], 0)
    part = column.decoded(raw.slice(3), pa.array(headers, HEADERS).slice(3))
    assert part.array.to_pylist() == ["d", "e", "5"]


def test_records_without_headers_are_decoded_as_they_are() -> None:
    raw = pa.array([b"a", b"b"], pa.binary())
    column = DecodedColumn("string", Labelled(), None)
    empty = pa.array([None, [("other", b"1")]], HEADERS)
    assert column.decoded(raw).array.to_pylist() == ["a", "b"]
    assert column.decoded(raw, empty).array.to_pylist() == ["a", "b"]


def test_a_column_that_is_laid_out_is_completed_by_what_is_left() -> None:
    own, kind = StructType((("n", "int64"),)), StructType((("n", "int64"), ("at", "timestamp")))
    numbers: Layout = (4, 1, b"\x07", [struct.pack("=4q", 7, 0, 8, 0)], ())
    found = ColumnLayout(own, (4, 2, b"\x05", [], (numbers,)), [1, 3])

    def decode(data: Sequence[bytes | None]) -> DecodedBatch:
        assert data == [b"b", b"d"]
        return DecodedBatch([{"n": 5.0}, {"n": "many"}], {})

    typed = TypedColumn(kind, decode, lay_out=lambda _: found)
    rows = DecodedColumn(kind, Labelled(), typed).decoded(pa.array([b"a", b"b", b"c", b"d"]))
    assert rows.array.to_pylist() == [
        {"n": 7, "at": None},
        {"n": 5, "at": None},
        {"n": 8, "at": None},
        None,
    ]
    assert rows.unfit == 1
