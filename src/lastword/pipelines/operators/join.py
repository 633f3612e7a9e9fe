"""Enriches events with the current value of their key in a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lastword.codecs.resolve import CodecSpec
from lastword.pipelines.api.null_values import Values
from lastword.pipelines.operators.events import Events
from lastword.pipelines.operators.operator import BatchContext, Operator
from lastword.pipelines.operators.state_view import StateView
from lastword.pipelines.operators.table_view import TableView

_NOTHING = object()


@dataclass(frozen=True)
class JoinTable(Operator):
    """Joins each event with the table's row as of the event's time, as far as the log was read.

    Events are dropped as in Kafka Streams: those without a value, and unless it is a left join
    those without a key or without a row.
    """

    joiner: Callable[[Any, Any], Any]
    table_value: CodecSpec
    left: bool

    def process(self, events: Events, states: Sequence[StateView], context: BatchContext) -> Events:
        """The events with ``joiner(value, row)`` as their value."""
        (table,) = states
        if not isinstance(table, TableView):
            raise TypeError("a join needs a store that follows its table")
        kept: list[int] = []
        values: list[Any] = []
        for i in range(len(events)):
            context.stream_time_ms = max(context.stream_time_ms, events.timestamps[i])
            table.advance(events.timestamps[i])
            try:
                value = self._joined(events, i, table, context)
            except Exception as error:  # noqa: BLE001 - the user's function and codec
                context.quarantine(events, i, error)
                continue
            if value is not _NOTHING:
                kept.append(i)
                values.append(value)
        return replace(events.take(kept), values=values)

    def _joined(self, events: Events, i: int, table: TableView, context: BatchContext) -> Any:
        key, value = events.keys[i], events.values[i]
        if value is None:
            context.tally.null_values += 1
            return _NOTHING
        if key is None and not self.left:
            context.tally.keyless += 1
            return _NOTHING
        values = Values(self.table_value)
        row = None if key is None else table.get_joined(key, values.id_header)
        if row is None and not self.left:
            context.tally.unmatched += 1
            return _NOTHING
        return self.joiner(value, None if row is None else values.decode(row))
