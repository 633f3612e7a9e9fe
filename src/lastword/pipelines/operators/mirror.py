"""Keeps the rows of a database table, change by change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from lastword.cdc.change import UNAVAILABLE, Operation, Row, RowChange, Snapshot
from lastword.cdc.column_types import convert_row, converters_of
from lastword.codecs.row import RowCodec
from lastword.errors import CodecError, DecodeError
from lastword.pipelines.operators.events import Events
from lastword.pipelines.operators.mirror_marks import (
    SOURCE_HEADER,
    Marks,
    left_behind,
    read_marks,
    write_marks,
)
from lastword.pipelines.operators.mirror_shape import PLAIN, MirrorChange, Output, Shape
from lastword.pipelines.operators.operator import BatchContext, Operator
from lastword.pipelines.operators.state_view import StateView

_ROWS = RowCodec()


class _KeySchema(msgspec.Struct):
    fields: list[dict[str, Any]]


class _KeyWithSchema(msgspec.Struct):
    schema: _KeySchema
    payload: Row


_read_key = msgspec.json.Decoder(dict).decode
_key_text = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class MirrorRows(Operator):
    """Its first store has the rows by primary key, its second one the marks.

    With a ``shape`` it also tells what becomes of each row in a table of that shape.
    """

    shape: Shape = PLAIN

    def process(self, events: Events, states: Sequence[StateView], context: BatchContext) -> Events:
        """Apply each change in the order of the source's log."""
        rows, kept = states
        mirroring = _Mirroring(self.shape, rows, read_marks(kept), events, context)
        for i, change in enumerate(events.values):
            if change is not None:  # a tombstone after a delete says nothing new
                mirroring.take(i, change)
        if len(events):
            context.stream_time_ms = max(context.stream_time_ms, *events.timestamps)
            write_marks(kept, mirroring.marks, events.timestamps[-1])
        return mirroring.told()


@dataclass(slots=True)
class _Mirroring:
    """One batch."""

    shape: Shape
    rows: StateView
    marks: Marks
    events: Events
    context: BatchContext
    outputs: list[tuple[int, Output]] = field(default_factory=list)

    def told(self) -> Events:
        """The outputs, each with the place of the change that it came of."""
        events, indexes = self.events, [i for i, _ in self.outputs]
        return Events(
            [events.topics[i] for i in indexes],
            [output.key for _, output in self.outputs],
            [output.value for _, output in self.outputs],
            [events.timestamps[i] for i in indexes],
            [events.offsets[i] for i in indexes],
            [{SOURCE_HEADER: output.source} for _, output in self.outputs],
        )

    def take(self, i: int, change: RowChange) -> None:
        """One change; one that cannot be applied is quarantined."""
        if change.snapshot in (Snapshot.ROW, Snapshot.LAST):
            self.marks.enters(change)
        elif not self.marks.passes(change):
            self.context.tally.duplicates += 1
            return
        elif change.snapshot is Snapshot.NO and self.marks.snapshot is not None:
            self._sweep(i, change)  # its last row was never marked as such
        try:
            self._apply(i, change)
        except CodecError as error:  # a key or a row that nobody can write
            self.context.quarantine(self.events, i, error)
        if change.operation is not Operation.DELETE:
            self.marks.moved = None
        if change.snapshot is Snapshot.LAST:
            self._sweep(i, change)

    def _apply(self, i: int, change: RowChange) -> None:
        if change.operation is Operation.TRUNCATE:
            if change.snapshot is not Snapshot.NO:
                return  # a new snapshot begins: its end sweeps what it did not find
            for key in [key for key, _ in self.rows.scan_headers()]:
                self._remove(i, key, change)
            return
        key = key_of(self.events.keys[i])
        if change.after is not None:
            self._put(i, key, change.after, change)
        elif change.operation is Operation.DELETE:
            self.marks.deleted(self._remove(i, key, change))

    def _put(self, i: int, key: bytes, row: Row, change: RowChange) -> None:
        missing = [name for name, value in row.items() if value is UNAVAILABLE]
        old = self._old(key) if missing or self.shape.tells else None
        if missing:
            _complete(row, missing, self.marks.moved_here() or old)
        new = _ROWS.encode(row)
        at_ms = self.events.timestamps[i]
        source = self.marks.source(change)
        self.rows.put(key, new, at_ms, ((SOURCE_HEADER, source),))
        self.context.tally.updates += 1
        self._tell(i, key, MirrorChange(old, new, source))

    def _remove(self, i: int, key: bytes, change: RowChange) -> bytes | None:
        """Delete a row; returns it as it was. Where there is none, nothing is written."""
        old = self._old(key)
        if old is not None:
            source = self.marks.source(change)
            self.rows.put(key, None, self.events.timestamps[i], ((SOURCE_HEADER, source),))
            self.context.tally.updates += 1
            self._tell(i, key, MirrorChange(old, None, source))
        return old

    def _sweep(self, i: int, change: RowChange) -> None:
        """The snapshot is over: what it did not find is gone."""
        self.marks.snapshot = None
        for key in left_behind(self.rows.scan_headers(), self.marks.generation):
            self._remove(i, key, change)

    def _tell(self, i: int, key: bytes, replaced: MirrorChange) -> None:
        if not self.shape.tells:
            return
        try:
            outputs = self.shape.outputs(key, replaced)
        except Exception as error:  # noqa: BLE001 - the user's functions
            self.context.quarantine(self.events, i, error)
            return
        self.outputs += [(i, output) for output in outputs]

    def _old(self, key: bytes) -> bytes | None:
        (old,) = self.rows.get_many([key])
        return old


def key_of(data: bytes | None) -> bytes:
    """The primary key as text: the one column's own text, or several as a JSON list.

    A text that is empty, or begins with a quotation mark, is written as JSON, quotes included.

    >>> key_of(b'{"id":1}'), key_of(b'{"region":"eu","id":1}'), key_of(b'{"code":"A1"}')
    (b'1', b'["eu",1]', b'A1')
    """
    if data is None:
        raise DecodeError(
            "a change without a primary key", hint="give the table one, or a replica identity"
        )
    try:
        columns = _read_key(data)
        # A converter that writes schemas with keys, too; not two columns of these names.
        if columns.keys() == {"schema", "payload"} and type(columns["schema"]) is dict:
            given = msgspec.convert(columns, _KeyWithSchema)
            columns = given.payload
            convert_row(columns, converters_of(given.schema.fields))
    except msgspec.DecodeError as error:
        raise DecodeError(
            f"not a key of Debezium: {error}", hint="key.converter must be the JsonConverter"
        ) from error
    values: list[Any] = msgspec.to_builtins(list(columns.values()))
    if len(values) != 1:
        return _key_text(values)
    (value,) = values
    if isinstance(value, str) and value and not value.startswith('"'):
        return value.encode()
    return _key_text(value)


def _complete(row: Row, missing: list[str], old: bytes | None) -> None:
    """Take what the source did not send from the old row; omit a column that it lacks, too."""
    known = {} if old is None else _ROWS.decode(old)
    renamed = _renamed(list(known), list(row))
    for name in missing:
        before = name if name in known else renamed.get(name)
        if before is not None:
            row[name] = known[before]
        else:
            del row[name]


def _renamed(old: list[str], new: list[str]) -> dict[str, str]:
    """The one column whose name changed since, by its new name; empty if that is not clear.

    Change events do not tell of it. A new column comes last, so another name in the same place is
    the same column: unless the last one was dropped, one added and the table rewritten.
    """
    differing = [(now, before) for before, now in zip(old, new, strict=False) if before != now]
    return dict(differing) if len(differing) == 1 and len(old) == len(new) else {}
