"""From Debezium's JSON to the values that a Python user expects, column by column.

What a column is comes from the schema in the record: the semantic type that Debezium names, and
the type in the source. Where Python has no value (infinite timestamps, years beyond 9999), the
text stays text: ``infinity``, ``-infinity`` or what the database wrote.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

from lastword.cdc.change import UNAVAILABLE

Convert = Callable[[Any], Any]
"""One value of JSON to one of Python; never called with None."""

PLACEHOLDER = "__debezium_unavailable_value"
_PLACEHOLDERS = frozenset((PLACEHOLDER, b64encode(PLACEHOLDER.encode()).decode()))
_LIST_PLACEHOLDERS = ([PLACEHOLDER], list(PLACEHOLDER.encode()))

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


def converter(schema: Mapping[str, Any]) -> Convert | None:
    """What makes a Python value of a column of this schema; None where JSON's own is right."""
    scalar = _scalar(schema)
    if schema["type"] == "array":
        return _of_lists(scalar)
    if scalar is None and schema["type"] != "string":
        return None
    return _of_scalars(scalar)


def _scalar(schema: Mapping[str, Any]) -> Convert | None:
    items = schema["items"] if schema["type"] == "array" else schema
    if items["type"] == "array":  # an array of arrays; its lists are walked through
        return _scalar(items)
    if items.get("name") == "io.debezium.data.Bits":
        return _bits(int(items["parameters"]["length"]))
    if (named := _SEMANTIC.get(items.get("name", ""))) is not None:
        return named
    if schema.get("parameters", {}).get(_SOURCE_TYPE, "").upper() in _DECIMALS:
        return _decimal
    return _BY_TYPE.get(items["type"])


def _of_scalars(convert: Convert | None) -> Convert:
    def read(value: Any) -> Any:
        if type(value) is str and value in _PLACEHOLDERS:
            return UNAVAILABLE
        return value if convert is None else convert(value)

    return read


def _of_lists(convert: Convert | None) -> Convert:
    def each(value: Any) -> Any:
        if type(value) is list:
            return [each(item) for item in value]
        return value if value is None or convert is None else convert(value)

    def read(value: Any) -> Any:
        if value in _LIST_PLACEHOLDERS:
            return UNAVAILABLE
        return each(value)

    return read


def _decimal(text: str) -> Decimal:
    return Decimal(_DECIMAL_WORDS.get(text, text))


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
    """The digits of a bit string, as PostgreSQL writes it; a single one is a boolean there."""

    def read(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        number = int.from_bytes(b64decode(value), "little")
        return f"{number:0{length}b}"

    return read


_BY_TYPE: dict[str, Convert] = {"bytes": b64decode, "float": float, "double": float}
_SEMANTIC: dict[str, Convert] = {
    "io.debezium.time.IsoTimestamp": _timestamp,
    "io.debezium.time.ZonedTimestamp": _zoned_timestamp,
    "io.debezium.time.IsoDate": _date,
    "io.debezium.time.IsoTime": _time,
    "io.debezium.time.ZonedTime": _zoned_time,
    "io.debezium.time.Interval": _interval,
    "io.debezium.data.Json": msgspec.json.decode,
    "io.debezium.data.Uuid": UUID,
}
