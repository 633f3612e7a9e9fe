"""Rows of a database: JSON that any client can read, and the types that JSON does not have.

A row is an object with a member per column. What JSON cannot hold is written as text, and the
member ``$types`` says of which columns: ``{"id":1,"price":"9.90","$types":{"price":"decimal"}}``.
``decimal[]`` stands for a list of them, nested or not. In a list of dates or times, a text that is
neither stays text, as ``infinity``. Every row says so itself: rows from before and after a change
of the table's columns are read alike.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from math import isfinite
from typing import Any
from uuid import UUID

import msgspec

from lastword.codecs.base import Column
from lastword.codecs.batches import decode_singly
from lastword.codecs.columns.row_columns import RowColumn, row_columns
from lastword.codecs.columns.typed_column import TypedColumn
from lastword.codecs.defaults import DECODING_FAILED, ENCODING_FAILED
from lastword.codecs.row_schema import TYPES, RowSchema
from lastword.codecs.structured import DocumentCodec
from lastword.codecs.versions import SchemaText, ValueSchema, ValueVersion
from lastword.errors import DecodeError, EncodeError

_LIST = "[]"

_FROM_TEXT: dict[str, Callable[[str], Any]] = {
    "decimal": Decimal,
    "timestamp": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "uuid": UUID,
    "bytes": b64decode,
    "float": float,
}
# What a database has and Python does not, as infinity, is text: in a list it is beside the others.
_OR_TEXT = frozenset(("timestamp", "date", "time"))
# datetime before date, of which it is a kind.
_TO_TEXT: tuple[tuple[type, str, Callable[[Any], str]], ...] = (
    (Decimal, "decimal", str),
    (datetime, "timestamp", datetime.isoformat),
    (date, "date", date.isoformat),
    (time, "time", time.isoformat),
    (UUID, "uuid", str),
    (bytes, "bytes", lambda value: b64encode(value).decode()),
)
_PLAIN: frozenset[type] = frozenset((str, int, bool, type(None)))


def _or_text(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def read_or_text(text: str) -> Any:
        try:
            return read(text)
        except ValueError:
            return text

    return read_or_text


_READERS = _FROM_TEXT | {
    kind + _LIST: _or_text(read) if kind in _OR_TEXT else read for kind, read in _FROM_TEXT.items()
}

_encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode
_decode: Callable[[bytes], Any] = msgspec.json.Decoder().decode


class RowCodec(DocumentCodec):
    """A dict of column names to values: text, numbers, Decimal, datetime, date, time, UUID, bytes.

    Objects and lists of JSON are values, too. Timestamps with a zone and those without stay what
    they are, and so do NaN and infinity.

    ``columns`` returns the columns that the database's table has now, if they are known. The
    columns of a snapshot and the schema that is shown come from it. A pickled codec has none.
    """

    column = Column("string", verbatim=True)

    def __init__(self, columns: Callable[[], RowSchema | None] | None = None) -> None:
        super().__init__("row", "json", dict[str, Any], decodes_to_check=True)
        self.wire = "row"
        self._columns = columns

    def __reduce__(self) -> tuple[type[RowCodec], tuple[()]]:
        return RowCodec, ()

    def typed_column(self) -> TypedColumn | None:
        """A column with a field for each column of the database; None while none is known."""
        schema = self._schema()
        kind = None if schema is None else row_columns(schema)
        return None if kind is None else RowColumn(kind, partial(decode_singly, self.decode))

    def value_schema(self) -> ValueSchema:
        """The newest version of the columns, as JSON Schema."""
        schema = self._schema()
        if schema is None:
            return ValueSchema(None, ())
        text = SchemaText(ValueVersion(schema.version), "JSON", schema.json_schema())
        return ValueSchema(None, (text,))

    def _schema(self) -> RowSchema | None:
        return None if self._columns is None else self._columns()

    def encode(self, value: Mapping[str, Any]) -> bytes:
        """The object; raises EncodeError for what is no row, or a type that it does not know."""
        if not isinstance(value, Mapping):
            raise EncodeError(
                f"a row is a dict of columns, not {type(value).__name__}", hint="give a dict"
            )
        if TYPES in value:
            raise EncodeError(f"a column cannot be named {TYPES!r}", hint="rename it")
        row: dict[str, Any] = {}
        types: dict[str, str] = {}
        for name, given in value.items():
            if not isinstance(name, str):
                raise EncodeError(f"a column cannot be named {name!r}", hint="names are text")
            if type(given) in _PLAIN:
                row[name] = given
                continue
            row[name], kind = _written(given)
            if kind is not None:
                types[name] = kind
        if types:
            row[TYPES] = types
        try:
            return _encode(row)
        except ENCODING_FAILED as error:
            raise EncodeError(f"cannot be written as a row: {error}") from error

    def decode(self, data: bytes) -> dict[str, Any]:
        """The row with its types; a type that a newer version wrote stays text."""
        try:
            row = _decode(data)
            if type(row) is not dict:
                raise DecodeError("not a row: no JSON object", hint="read it as json")
            for name, kind in row.pop(TYPES, {}).items():
                read = _READERS.get(kind)
                if read is not None:
                    row[name] = _read(row[name], read)
        except (*DECODING_FAILED, ArithmeticError, AttributeError, KeyError) as error:
            raise DecodeError(
                f"not a row: {error}", hint="the bytes codec shows what is there"
            ) from error
        return row

    def parse(self, text: bytes) -> bytes:
        """The row as the codec writes it; ``$types`` is part of what a person types."""
        try:
            return self.encode(self.decode(text))
        except DecodeError as error:
            raise EncodeError(str(error), hint='write it as JSON: {"id": 1}') from error

    def text(self, data: bytes) -> str | None:
        """The object as it is, unless it was written in a form of its own."""
        try:
            return data.decode() if self.parse(data) == data else None
        except (EncodeError, UnicodeDecodeError):
            return None


def _written(value: Any) -> tuple[Any, str | None]:
    """A value as JSON has it, and the type it had if that is lost."""
    if isinstance(value, list):
        written = [_written(each) for each in value]
        kinds = {kind.removesuffix(_LIST) for _, kind in written if kind is not None}
        if not kinds:
            return [each for each, _ in written], None
        (kind, *others) = kinds
        if others or (kind not in _OR_TEXT and _has_text(value)):
            kinds |= {"text"} if _has_text(value) else set()
            raise EncodeError(f"a list of {sorted(kinds)} is no list of one type")
        return [each for each, _ in written], kind + _LIST
    return _scalar(value)


def _has_text(values: list[Any]) -> bool:
    return any(_has_text(each) if isinstance(each, list) else type(each) is str for each in values)


def _scalar(value: Any) -> tuple[Any, str | None]:
    if isinstance(value, float):
        return (value, None) if isfinite(value) else (str(value), "float")
    for kind, name, to_text in _TO_TEXT:
        if isinstance(value, kind):
            return to_text(value), name
    return value, None


def _read(value: Any, read: Callable[[str], Any]) -> Any:
    if value is None or isinstance(value, float):  # finite ones in a list with others
        return value
    return [_read(each, read) for each in value] if isinstance(value, list) else read(value)
