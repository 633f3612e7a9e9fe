"""Decoded columns for analysts, beside the raw ones; what cannot be read is null there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from lastword.snapshots.catalog.layout import decoded_type


def decoded(raw: pa.Array, codec: str) -> pa.Array | None:
    """The column as the codec reads it; None for a codec that has no column type.

    JSON stays text: its shape is the writer's business, and ``from_json`` reads any of it.
    """
    type_ = decoded_type(codec)
    if type_ is None:
        return None
    if codec == "int64":
        return _int64(raw)
    if codec == "msgpack":
        return pa.array([_or_none(_msgpack_as_json, each) for each in raw.to_pylist()], type_)
    try:
        return raw.cast(pa.binary()).cast(type_)
    except pa.ArrowInvalid:  # not all of it is text
        return pa.array([_or_none(bytes.decode, each) for each in raw.to_pylist()], type_)


def _int64(raw: pa.Array) -> pa.Array:
    """Java's LongSerializer: eight bytes, big-endian."""
    values = raw.to_pylist()
    if all(each is not None and len(each) == 8 for each in values):
        return pa.array(np.frombuffer(b"".join(values), dtype=">i8").astype(np.int64))
    whole = [None if each is None or len(each) != 8 else each for each in values]
    numbers = [None if each is None else int.from_bytes(each, "big", signed=True) for each in whole]
    return pa.array(numbers, pa.int64())


def _msgpack_as_json(value: bytes) -> str:
    return msgspec.json.encode(msgspec.msgpack.decode(value)).decode()


def _or_none(read: Callable[[Any], str], value: bytes | None) -> str | None:
    try:
        return None if value is None else read(value)
    except (UnicodeDecodeError, msgspec.MsgspecError, TypeError):
        return None
