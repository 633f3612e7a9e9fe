"""A mirror under other keys than the primary one: each key is its last owner's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lastword.pipelines.operators.events import Events
from lastword.pipelines.operators.mirror_marks import SOURCE_HEADER
from lastword.pipelines.operators.operator import BatchContext, Operator
from lastword.pipelines.operators.state_view import StateView
from lastword.records import Headers

OWNER_HEADER = "lastword-owner"
"""On every row: the primary key of the row that has this key now."""


@dataclass(frozen=True)
class OwnedKeys(Operator):
    """Takes rows with their owners. An owner takes back only what nobody has taken over since.

    Two rows that exchange their keys in one transaction come as a delete and a put each, in any
    order; of rows with the same key, the last one written is shown.
    """

    def process(self, events: Events, states: Sequence[StateView], context: BatchContext) -> Events:
        """Put and delete in the order of the source's log."""
        (state,) = states
        for i, (key, given) in enumerate(zip(events.keys, events.values, strict=True)):
            context.stream_time_ms = max(context.stream_time_ms, events.timestamps[i])
            if key is None or given is None:
                context.tally.keyless += 1
                continue
            owner = (OWNER_HEADER, given["owner"].encode())
            if given["row"] is None and owner not in (state.headers_of(key) or ()):
                continue
            headers: Headers = (owner, (SOURCE_HEADER, given["source"]))
            state.put(key, given["row"], events.timestamps[i], headers)
            context.tally.updates += 1
        return Events.none()
