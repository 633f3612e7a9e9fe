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
from lastword.cdc.column_types import Convert, converter
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

Converters = Mapping[str, Convert]
_NO_CONVERTERS: Converters = {}


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
        self._last = b""

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

    def _split(self, data: bytes) -> tuple[bytes | msgspec.Raw, Converters]:
        prefix = self._last
        if prefix and data.startswith(prefix):
            return data[len(prefix) : -1], self._known[prefix]
        if not data.startswith(b'{"schema":'):
            return data, _NO_CONVERTERS
        found = _decode_with_schema(data)
        at = len(data) - len(bytes(found.payload)) - 1
        prefix = data[:at]
        if prefix not in self._known:
            if len(self._known) >= _SCHEMAS_KEPT:
                self._known.clear()
            self._known[prefix] = _converters(found.schema)
        converters = self._known[prefix]
        if prefix.endswith(_PAYLOAD):  # nothing but the payload and the last brace follows
            self._last = prefix
        return found.payload, converters


def _converters(schema: Mapping[str, Any]) -> Converters:
    """By column; those whose values are right as they are have none."""
    (after,) = [each for each in schema["fields"] if each["field"] == "after"]
    found = {each["field"]: converter(each) for each in after["fields"]}
    return {name: convert for name, convert in found.items() if convert is not None}


def _change(envelope: _Envelope, converters: Converters) -> RowChange:
    source = envelope.source
    snapshot = _snapshot(source.snapshot)
    return RowChange(
        envelope.op,
        _row(envelope.before, converters),
        _row(envelope.after, converters),
        position_of(source),
        transaction_of(source) if snapshot is Snapshot.NO else None,
        snapshot,
        f"{source.schema or source.db}.{source.table}",
        source.ts_ms,
    )


def _row(row: Row | None, converters: Converters) -> Row | None:
    if row is not None:
        for name, convert in converters.items():
            if row.get(name) is not None:
                row[name] = convert(row[name])
    return row


def _snapshot(marker: str | bool | None) -> Snapshot:
    if not isinstance(marker, str):
        return Snapshot.ROW if marker else Snapshot.NO
    return _SNAPSHOTS.get(marker, Snapshot.ROW)
