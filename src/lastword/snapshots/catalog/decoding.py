"""Decoded columns for analysts, beside the raw ones; what cannot be read is null there."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from lastword.codecs.base import Codec
from lastword.snapshots.catalog.layout import arrow_type


def decoded(raw: pa.Array, codec: Codec[Any]) -> pa.Array | None:
    """The column as the codec reads it; None for a codec that has no column type.

    JSON stays text: its shape is the writer's business, and ``from_json`` reads any of it.
    """
    column = codec.column
    if column is None:
        return None
    type_ = arrow_type(column)
    if column.verbatim:
        try:
            return raw.cast(pa.binary()).cast(type_)
        except pa.ArrowInvalid:  # not all of it is text
            pass
    return pa.array(codec.column_values(raw.to_pylist()), type_)
