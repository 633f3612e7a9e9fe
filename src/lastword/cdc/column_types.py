"""From Debezium's JSON to the values that a Python user expects, column by column.

What a column is comes from the schema in the record: the semantic type that Debezium names, and
the type in the source. A connector with other settings writes another type, and the Python value is
the same. Where Python has no value (infinite timestamps, years beyond 9999), it is text:
``infinity``, ``-infinity`` or what the database wrote.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Any
from uuid import UUID

import msgspec

from lastword.cdc.change import UNAVAILABLE, Row
from lastword.cdc.counted_times import (
    MICRO,
    MILLI,
    NANO,
    duration_reader,
    read_day,
    time_reader,
    timestamp_reader,
)
from lastword.cdc.placeholders import is_placeholder
from lastword.errors import DecodeError

Convert = Callable[[Any], Any]
"""One value of JSON to one of Python; never called with None."""

Converters = Mapping[str, Convert]
"""By column; those whose values are right as they are have none."""

_SOURCE_TYPE = "__debezium.source.column.type"
_DECIMALS = frozenset(("NUMERIC", "_NUMERIC", "DECIMAL", "MONEY", "_MONEY"))

# What infinity becomes on its way through Java's numbers; no date of PostgreSQL is that far away.
_INFINITE = {
    "+292278994-08-16": "infinity",
    "-5877611-06-21": "infinity",
    "+294247-01-10T04:00:25.2": "infinity",
    "+292269055-12-02": "-infinity",
    "-5877611-06-22": "-infinity",
    "-290308-12-21T19:59:27.6": "-infinity",
}
_DECIMAL_WORDS = {
    "NAN": "NaN",
    "POSITIVE_INFINITY": "Infinity",
    "NEGATIVE_INFINITY": "-Infinity",
}
_EXACT = Context(prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX)
_PADDED_BITS_MAX = 1 << 20
_NEVER_LARGE = frozenset(("int8", "int16", "int32", "int64", "boolean"))


def converters_of(fields: Iterable[Mapping[str, Any]]) -> Converters:
    """What makes Python values of the columns with these schemas."""
    found = {each["field"]: converter(each) for each in fields}
    return {name: convert for name, convert in found.items() if convert is not None}


def convert_row(row: Row, converters: Converters | None) -> None:
    """Convert in place; without a schema (None), only what was not sent is recognized."""
    if converters is None:
        for name, value in row.items():
            if is_placeholder(value):
                row[name] = UNAVAILABLE
        return
    for name, convert in converters.items():
        if row.get(name) is not None:
            row[name] = convert(row[name])


def converter(schema: Mapping[str, Any]) -> Convert | None:
    """What makes a Python value of a column of this schema; None where JSON's own is right."""
    scalar = _scalar(schema)
    kind = schema["type"]
    if scalar is None and kind in _NEVER_LARGE:
        return None
    items = _of_lists(scalar) if kind == "array" else scalar

    def read(value: Any) -> Any:
        if is_placeholder(value):
            return UNAVAILABLE
        return value if items is None else items(value)

    return read


def _scalar(schema: Mapping[str, Any]) -> Convert | None:
    items = schema["items"] if schema["type"] == "array" else schema
    if items["type"] == "array":  # an array of arrays; its lists are walked through
        return _scalar(items)
    name = items.get("name", "")
    if name == "io.debezium.data.Bits":
        return _bits(int(items["parameters"]["length"]))
    if name == "org.apache.kafka.connect.data.Decimal":
        scale = int(items["parameters"]["scale"])
        return lambda value: _unscaled(value, scale)
    if (named := _SEMANTIC.get(name)) is not None:
        return named
    source_type = schema.get("parameters", {}).get(_SOURCE_TYPE, "").upper()
    if items["type"] == "string" and source_type in _DECIMALS:
        return _decimal
    return _BY_TYPE.get(items["type"])


def _of_lists(convert: Convert | None) -> Convert:
    def each(value: Any) -> Any:
        if type(value) is list:
            return [each(item) for item in value]
        return value if value is None or convert is None else convert(value)

    return each


def _decimal(text: str) -> Decimal:
    return Decimal(_DECIMAL_WORDS.get(text, text))


def _unscaled(value: Any, scale: int) -> Decimal:
    """The bytes of a whole number, and how many of its digits are decimals."""
    if not isinstance(value, str):
        raise DecodeError(
            f"the decimal {value} is a JSON number, which may have lost digits",
            hint="set value.converter.decimal.format=BASE64 in the connector",
        )
    whole = Decimal(int.from_bytes(b64decode(value), signed=True))
    return whole.scaleb(-scale, _EXACT)


def _variable_scale(value: Mapping[str, Any]) -> Decimal:
    return _unscaled(value["value"], value["scale"])


def _local(text: str) -> str:
    """Without the zone that Debezium gives to what has none."""
    return text.removesuffix("Z")


def _timestamp(text: str) -> Any:
    return _or_text(datetime.fromisoformat, _local(text))


def _zoned_timestamp(text: str) -> Any:
    return _or_text(datetime.fromisoformat, text)


def _date(text: str) -> Any:
    return _or_text(date.fromisoformat, _local(text))


def _time(text: str) -> Any:
    return _or_text(time.fromisoformat, _local(text))


def _zoned_time(text: str) -> Any:
    return _or_text(time.fromisoformat, text)


def _or_text(read: Callable[[str], Any], text: str) -> Any:
    try:
        return read(text)
    except ValueError:
        return _INFINITE.get(text, text)


_NANOSECONDS = re.compile(r"\d+\.\d{7,}(?=S$)")


def _interval(text: str) -> str:
    """With the microseconds of the database: Debezium's nanoseconds are those of a double."""
    return _NANOSECONDS.sub(lambda found: f"{float(found[0]):.6f}".rstrip("0").rstrip("."), text)


def _bits(length: int) -> Convert:
    """The digits of a bit string, as PostgreSQL writes it; a single one is a boolean there.

    Debezium drops leading zeros. They come back unless the length is unknown: a ``varbit`` without
    one has the largest number, and so many digits would fill the memory.
    """
    digits = length if length <= _PADDED_BITS_MAX else 0

    def read(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        number = int.from_bytes(b64decode(value), "little")
        return f"{number:0{digits}b}"

    return read


_BY_TYPE: dict[str, Convert] = {"bytes": b64decode, "float": float, "double": float}
_SEMANTIC: dict[str, Convert] = {
    "io.debezium.time.IsoTimestamp": _timestamp,
    "io.debezium.time.ZonedTimestamp": _zoned_timestamp,
    "io.debezium.time.IsoDate": _date,
    "io.debezium.time.IsoTime": _time,
    "io.debezium.time.ZonedTime": _zoned_time,
    "io.debezium.time.Interval": _interval,
    "io.debezium.time.Date": read_day,
    "io.debezium.time.Timestamp": timestamp_reader(MILLI),
    "io.debezium.time.MicroTimestamp": timestamp_reader(MICRO),
    "io.debezium.time.NanoTimestamp": timestamp_reader(NANO),
    "io.debezium.time.Time": time_reader(MILLI),
    "io.debezium.time.MicroTime": time_reader(MICRO),
    "io.debezium.time.NanoTime": time_reader(NANO),
    "io.debezium.time.MicroDuration": duration_reader(MICRO),
    "io.debezium.time.NanoDuration": duration_reader(NANO),
    "org.apache.kafka.connect.data.Date": read_day,
    "org.apache.kafka.connect.data.Time": time_reader(MILLI),
    "org.apache.kafka.connect.data.Timestamp": timestamp_reader(MILLI),
    "io.debezium.data.VariableScaleDecimal": _variable_scale,
    "io.debezium.data.Json": msgspec.json.decode,
    "io.debezium.data.Uuid": UUID,
}
