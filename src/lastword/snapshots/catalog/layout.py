"""The columns of the Delta tables, the same for Spark, which writes, and deltalake, which reads."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

TIMESTAMP = pa.timestamp("us", tz="UTC")
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))

# What a codec's bytes look like to an analyst: a column beside the raw one.
_DECODED: dict[str, tuple[str, pa.DataType]] = {
    "string": ("STRING", pa.string()),
    "json": ("STRING", pa.string()),
    "msgpack": ("STRING", pa.string()),
    "int64": ("BIGINT", pa.int64()),
}

RAW_COLUMNS = ("key", "value", "headers", "offset", "timestamp")


def decoded_type(codec: str) -> pa.DataType | None:
    """The Arrow type of a decoded column; None for a codec that has none."""
    return _DECODED[codec][1] if codec in _DECODED else None


def snapshot_columns(key_codec: str, value_codec: str) -> str:
    """The columns of a snapshot, as Spark declares them."""
    return ", ".join(
        [
            "key BINARY",
            "value BINARY",
            "headers ARRAY<STRUCT<key: STRING, value: BINARY>>",
            "offset BIGINT",
            "timestamp TIMESTAMP",
            *_decoded_columns(key_codec, value_codec),
            "partition INT",
        ]
    )


def snapshot_schema(key_codec: str, value_codec: str) -> pa.Schema:
    """The same, as Arrow has them."""
    fields: list[Any] = [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", HEADERS),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", TIMESTAMP),
    ]
    for name, codec in (("decoded_key", key_codec), ("decoded_value", value_codec)):
        if (type_ := decoded_type(codec)) is not None:
            fields.append(pa.field(name, type_))
    return pa.schema([*fields, pa.field("partition", pa.int32())])


def history_columns(key_codec: str, value_codec: str) -> str:
    """The columns of a history, as Spark declares them; a null value is a delete."""
    return f"{snapshot_columns(key_codec, value_codec)}, date DATE"


def history_schema(key_codec: str, value_codec: str) -> pa.Schema:
    """The same, as Arrow has them."""
    return snapshot_schema(key_codec, value_codec).append(pa.field("date", pa.date32()))


def _decoded_columns(key_codec: str, value_codec: str) -> list[str]:
    both = (("decoded_key", key_codec), ("decoded_value", value_codec))
    return [f"{name} {_DECODED[codec][0]}" for name, codec in both if codec in _DECODED]
