"""Reads Debezium's envelope, as Kafka Connect's JSON converter writes it.

With ``schemas.enable`` each record begins with the schema of its value, which is much larger than
the value and the same for all records between two changes of the table. It is parsed once: a
record that begins with the same bytes has the same schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lastword.cdc.change import Operation, Row, RowChange, Snapshot
from lastword.cdc.column_types import Converters, convert_row, converters_of
from lastword.cdc.source_position import Source, position_of, transaction_of
from lastword.codecs.defaults import DECODING_FAILED, ValueCodec
from lastword.errors import DecodeError, EncodeError

_PAYLOAD = b',"payload":'
_SCHEMAS_KEPT = 64  # more shapes than records of one batch have

_SNAPSHOTS = {
    "false": Snapshot.NO,
    "incremental": Snapshot.INCREMENTAL,
    "last": Snapshot.LAST,
    "last_in_data_collection": Snapshot.LAST,
}


class _Envelope(msgspec.Struct):
    op: Operation
    source: Source
    before: Row | None = None
    after: Row | None = None


class _WithSchema(msgspec.Struct):
    schema: dict[str, Any]
    payload: msgspec.Raw


_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_with_schema = msgspec.json.Decoder(_WithSchema).decode


class ChangeCodec(ValueCodec):
    """Bytes to a RowChange; a codec that only reads. Safe to use from any thread."""

    name = "debezium"

    def __init__(self) -> None:
        self._known: dict[bytes, Converters] = {}
        self._last: tuple[bytes, Converters] = b"", {}

    def __reduce__(self) -> tuple[type[ChangeCodec], tuple[()]]:
        return ChangeCodec, ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChangeCodec)

    def __hash__(self) -> int:
        return hash(ChangeCodec)

    def encode(self, value: Any) -> bytes:
        """Refused: only a connector knows what happened."""
        raise EncodeError("change events are written by a connector", hint="read them only")

    def decode(self, data: bytes) -> RowChange:
        """The change; raises DecodeError for what is no envelope."""
        try:
            payload, converters = self._split(data)
            return _change(_decode_envelope(payload), converters)
        except (*DECODING_FAILED, ArithmeticError, KeyError) as error:
            raise DecodeError(
                f"not a change event of Debezium: {error}",
                hint="the connector must send full envelopes: no ExtractNewRecordState, and "
                "Kafka Connect's JsonConverter",
            ) from error

    def _split(self, data: bytes) -> tuple[bytes | msgspec.Raw, Converters | None]:
        """The envelope and what converts its rows; None where the record has no schema."""
        prefix, converters = self._last
        if prefix and data.startswith(prefix):
            return data[len(prefix) : -1], converters
        if not data.startswith(b'{"schema":'):
            return data, None
        found = _decode_with_schema(data)
        prefix = data[: len(data) - len(bytes(found.payload)) - 1]
        if (known := self._known.get(prefix)) is None:
            if len(self._known) >= _SCHEMAS_KEPT:
                self._known.clear()
            known = self._known[prefix] = _converters(found.schema)
        if prefix.endswith(_PAYLOAD):  # nothing but the payload and the last brace follows
            self._last = prefix, known
        return found.payload, known


def _converters(schema: Mapping[str, Any]) -> Converters:
    (after,) = [each for each in schema["fields"] if each["field"] == "after"]
    return converters_of(after["fields"])


def _change(envelope: _Envelope, converters: Converters | None) -> RowChange:
    source = envelope.source
    snapshot = _snapshot(source.snapshot)
    for row in (envelope.before, envelope.after):
        if row is not None:
            convert_row(row, converters)
    return RowChange(
        envelope.op,
        envelope.before,
        envelope.after,
        position_of(source),
        transaction_of(source) if snapshot is Snapshot.NO else None,
        snapshot,
        f"{source.schema or source.db}.{source.table}",
        source.ts_ms,
    )


def _snapshot(marker: str | bool | None) -> Snapshot:
    if not isinstance(marker, str):
        return Snapshot.ROW if marker else Snapshot.NO
    return _SNAPSHOTS.get(marker, Snapshot.ROW)
