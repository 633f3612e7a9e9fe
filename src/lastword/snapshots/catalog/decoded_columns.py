"""Decoded columns for analysts, beside the raw ones: by a schema if there is one.

The types are fixed once for a job: a schema that is registered meanwhile must not give the tasks of
one commit different columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lastword.codecs.base import Codec
from lastword.codecs.columns.column_layout import ColumnLayout, Layout
from lastword.codecs.columns.type_tree import ColumnType, ListType, StructType
from lastword.codecs.columns.typed_column import ColumnCodec, ColumnValues, TypedColumn
from lastword.codecs.resolve import sent_to_executors
from lastword.snapshots.catalog.layout import arrow_schema, arrow_type

# What Arrow raises for a value that its type cannot hold.
_REFUSED = (pa.ArrowException, ValueError, TypeError, OverflowError)


class DecodedArray(NamedTuple):
    """A decoded column; ``unfit`` of its values are null because they do not fit the schema."""

    array: pa.Array
    unfit: int


@dataclass(frozen=True)
class DecodedColumn:
    """How one column is decoded; ``typed`` is None for a codec without a schema."""

    type: ColumnType
    codec: Codec[Any]
    typed: TypedColumn | None

    def decoded(self, raw: pa.Array, headers: pa.Array | None = None) -> DecodedArray:
        """The column of a batch. What cannot be read is null in it, and counted.

        ``headers`` are those of the records: the ids of the schemas may be there.
        """
        kind = arrow_type(self.type)
        if self.typed is None and self.codec.column is not None and self.codec.column.verbatim:
            try:
                return DecodedArray(raw.cast(pa.binary()).cast(kind), 0)
            except pa.ArrowInvalid:  # not all of it is text
                pass
        data = _joined(raw, headers, self.codec.id_header).to_pylist()
        if self.typed is not None and self.typed.lay_out is not None:
            found = self.typed.lay_out(data)
            if found is not None:
                return self._completed(found, data)
        return self._decoded(data)

    def as_type(self, kind: ColumnType) -> DecodedColumn:
        """The same column with another type, which has all fields of its own and maybe more."""
        typed = None if self.typed is None else replace(self.typed, type=kind)
        return replace(self, type=kind, typed=typed)

    def _completed(self, found: ColumnLayout, data: list[bytes | None]) -> DecodedArray:
        """The column with the values that are left to decode."""
        array = laid_out(found.type, found.layout).cast(arrow_type(self.type))
        if not found.left:
            return DecodedArray(array, 0)
        left = self._decoded([data[i] for i in found.left])
        order = np.arange(len(array))
        order[found.left] = np.arange(len(array), len(array) + len(found.left))
        return DecodedArray(pa.concat_arrays([array, left.array]).take(order), left.unfit)

    def _decoded(self, data: list[bytes | None]) -> DecodedArray:
        found = self._values(data)
        kind = arrow_type(self.type)
        try:
            return DecodedArray(pa.array(found.values, kind), found.unfit)
        except _REFUSED:
            return _one_by_one(found, kind)

    def _values(self, data: list[bytes | None]) -> ColumnValues:
        if self.typed is not None:
            return self.typed.read(data)
        values = self.codec.column_values(data)
        lost = sum(
            each is not None and value is None for each, value in zip(data, values, strict=True)
        )
        return ColumnValues(values, lost)


def laid_out(kind: ColumnType, layout: Layout) -> pa.Array:
    """The array of buffers that are laid out for it."""
    rows, nulls, validity, buffers, children = layout
    kinds: list[ColumnType] = []
    if isinstance(kind, StructType):
        kinds = [each for _, each in kind.fields]
    elif isinstance(kind, ListType):
        kinds = [kind.item]
    return pa.Array.from_buffers(
        arrow_type(kind),
        rows,
        [None if each is None else pa.py_buffer(each) for each in (validity, *buffers)],
        nulls,
        children=[laid_out(*each) for each in zip(kinds, children, strict=True)],
    )


def _joined(raw: pa.Array, headers: pa.Array | None, id_header: str | None) -> pa.Array:
    """The bytes that the codec takes: each with the value of its last ``id_header`` in front."""
    if headers is None or id_header is None:
        return raw
    pairs = headers.flatten()
    at = pc.indices_nonzero(
        pc.and_kleene(pc.equal(pairs.field("key"), id_header), pc.is_valid(pairs.field("value")))
    )
    if not len(at):
        return raw
    # Of several headers the last one counts: it comes last here, and overwrites the others.
    records = pc.list_parent_indices(headers).take(at).to_pylist()
    ids: list[bytes] = [b""] * len(raw)
    for record, schema_id in zip(records, pairs.field("value").take(at).to_pylist(), strict=True):
        ids[record] = schema_id
    return pc.binary_join_element_wise(pa.array(ids, pa.binary()), raw.cast(pa.binary()), b"")


def _one_by_one(found: ColumnValues, kind: pa.DataType) -> DecodedArray:
    values: list[Any] = []
    unfit = found.unfit
    for value in found.values:
        try:
            pa.array([value], kind)
            values.append(value)
        except _REFUSED:
            values.append(None)
            unfit += 1
    return DecodedArray(pa.array(values, kind), unfit)


@dataclass(frozen=True)
class DecodedColumns:
    """The decoded columns of a table; None for a codec whose values make no column."""

    key: DecodedColumn | None
    value: DecodedColumn | None

    @property
    def types(self) -> dict[str, ColumnType]:
        """The types by the names of the columns."""
        both = (("decoded_key", self.key), ("decoded_value", self.value))
        return {name: column.type for name, column in both if column is not None}

    def as_types(self, types: Mapping[str, ColumnType]) -> DecodedColumns:
        """The same columns with these types, by the names of the columns."""
        key, value = (
            None if column is None else column.as_type(types[name])
            for name, column in (("decoded_key", self.key), ("decoded_value", self.value))
        )
        return DecodedColumns(key, value)

    def of(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], int]:
        """The decoded columns of a batch of records, and how many of its values are unfit."""
        arrays: dict[str, pa.Array] = {}
        unfit = 0
        for part, column in (("key", self.key), ("value", self.value)):
            if column is not None:
                found = column.decoded(batch.column(part), batch.column("headers"))
                arrays[f"decoded_{part}"] = found.array
                unfit += found.unfit
        return arrays, unfit

    def rows(
        self, batch: pa.RecordBatch, columns: Mapping[str, ColumnType], **more: pa.Array
    ) -> tuple[pa.RecordBatch, int]:
        """Records as rows with these columns, and how many keys and values are unfit."""
        decoded, unfit = self.of(batch)
        arrays = {name: batch.column(name) for name in batch.schema.names} | decoded | more
        schema = arrow_schema(columns)
        fitting = [arrays[field.name].cast(field.type) for field in schema]
        return pa.RecordBatch.from_arrays(fitting, schema=schema), unfit


def decoded_columns(key: Codec[Any], value: Codec[Any]) -> DecodedColumns:
    """The columns that these codecs make from now on; may ask a schema registry."""
    for codec in (key, value):
        sent_to_executors(codec)
    return DecodedColumns(_decoded_column(key), _decoded_column(value))


def _decoded_column(codec: Codec[Any]) -> DecodedColumn | None:
    typed = codec.typed_column() if isinstance(codec, ColumnCodec) else None
    if typed is not None:
        return DecodedColumn(typed.type, codec, typed)
    return None if codec.column is None else DecodedColumn(codec.column.type, codec, None)
