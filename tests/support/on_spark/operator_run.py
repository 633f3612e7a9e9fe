"""What a partition's task does with an operator, without Kafka and Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from lastword.pipelines.operators.events import Events, Tally
from lastword.pipelines.operators.operator import BatchContext, Operator
from lastword.pipelines.operators.state_view import StateView, Update
from lastword.pipelines.task.any_key_store import AnyKeyStore
from lastword.stores.memory import MemoryStore
from tests.support.java_peers.streams_model import Event

KEYS = st.sampled_from([b"a", b"b", b"hot", b"hot", b"hot", b"", None])
VALUES = st.none() | st.integers(0, 9)
EVENTS = st.lists(st.builds(Event, KEYS, VALUES, st.integers(1, 80)), max_size=60)
CUTS = st.lists(st.integers(0, 60), max_size=6)


class OperatorRun:
    """An operator with ``stores`` stores, fed batch by batch."""

    def __init__(self, operator: Operator, *, stores: int = 1, every_update: bool = False) -> None:
        self.operator = operator
        self.every_update = every_update
        self.stores = [AnyKeyStore(MemoryStore()) for _ in range(stores)]
        for store in self.stores:
            store.open()
        self.changelogs: list[list[Update]] = [[] for _ in self.stores]
        self.tally = Tally()
        self.stream_time_ms = -1
        self.bad: list[str] = []
        self.told: list[tuple[bytes | None, Any]] = []
        self.told_headers: list[Mapping[str, bytes | None]] = []

    def process(self, events: Sequence[Event]) -> None:
        columns = Events(
            ["t"] * len(events),
            [event.key for event in events],
            [event.value for event in events],
            [event.timestamp_ms for event in events],
            range(len(events)),
        )
        context = BatchContext(self.stream_time_ms, self.tally)
        views = [StateView(store, every_update=self.every_update) for store in self.stores]
        given = self.operator.process(columns, views, context)
        self.told += zip(given.keys, given.values, strict=True)
        self.told_headers += given.headers
        self.stream_time_ms = context.stream_time_ms
        self.bad += [each.reason for each in context.bad]
        for view, changelog in zip(views, self.changelogs, strict=True):
            changelog.extend(view.updates())
            view.commit(b"checkpoint", len(changelog))

    def in_batches(
        self, events: Sequence[Event], cuts: Sequence[int], *, lose_stores: bool = False
    ) -> None:
        for start, end in pairwise([0, *sorted(cuts), len(events)]):
            self.process(events[start:end])
            if lose_stores:
                self.restore()

    def restore(self) -> None:
        """Throw the stores away and fill new ones from the changelogs, as a moved task does."""
        for n, changelog in enumerate(self.changelogs):
            self.stores[n] = AnyKeyStore(MemoryStore())
            self.stores[n].open()
            for offset, update in enumerate(changelog, 1):
                view = StateView(self.stores[n], every_update=True)
                view.put(*update)
                view.commit(b"checkpoint", offset)

    @property
    def table(self) -> dict[bytes, bytes]:
        return dict(StateView(self.stores[0], every_update=False).scan(None, None))

    @property
    def changelog(self) -> list[Update]:
        return self.changelogs[0]

    @property
    def table_by_changelog(self) -> dict[bytes, bytes]:
        """What a reader of the compacted topic sees."""
        return last_values((key, value) for key, value, *_ in self.changelog)


def last_values(records: Iterable[tuple[bytes | None, Any]]) -> dict[bytes | None, Any]:
    """A topic as a table."""
    table: dict[bytes | None, Any] = {}
    for key, value in records:
        if value is None:
            table.pop(key, None)
        else:
            table[key] = value
    return table


def as_json(table: dict[bytes, Any]) -> dict[bytes, bytes]:
    """A model's table as the JSON codec writes it."""
    return {key: str(value).encode() for key, value in table.items()}
