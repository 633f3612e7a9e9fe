"""Events joined with a table, against a model that takes the earlier of two heads each time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lastword.pipelines.operators.events import Events, Tally
from lastword.pipelines.operators.join import JoinTable
from lastword.pipelines.operators.operator import BatchContext
from lastword.pipelines.operators.table_view import TableView
from lastword.pipelines.task.any_key_store import AnyKeyStore
from lastword.records import Record
from lastword.stores.memory import MemoryStore
from tests.support.java_peers.streams_model import Event
from tests.support.on_spark.operator_run import CUTS

KEYS = st.sampled_from([b"a", b"b", b"", None])
EVENTS = st.lists(st.builds(Event, KEYS, st.none() | st.integers(0, 9), st.integers(0, 40)))
UPDATES = st.lists(st.builds(Event, KEYS, st.none() | st.integers(0, 9), st.integers(0, 40)))


class JoinRun:
    """A partition's events in batches, with the whole table in its topic from the start."""

    def __init__(self, updates: list[Event], *, left: bool) -> None:
        self.join = JoinTable(lambda value, row: (value, row), "json", left)
        self.log = [
            Record(0, 2 * n, at, key, None if value is None else str(value).encode())
            for n, (key, value, at) in enumerate(updates)
        ]
        self.store = AnyKeyStore(MemoryStore())
        self.store.open()
        self.position = 0
        self.tally = Tally()
        self.joined: list[Any] = []
        self.bad: list[str] = []

    def process(self, events: list[Event]) -> None:
        columns = Events(
            ["t"] * len(events),
            [event.key for event in events],
            [event.value for event in events],
            [event.timestamp_ms for event in events],
            range(len(events)),
        )
        behind = iter([record for record in self.log if record.offset >= self.position])
        end = 2 * len(self.log)
        table = TableView(self.store, behind, position=self.position, end=end)
        context = BatchContext(tally=self.tally)
        self.joined += self.join.process(columns, [table], context).values
        self.bad += [each.reason for each in context.bad]
        self.position = table.position
        table.commit(b"checkpoint")


def model(events: list[Event], updates: list[Event], *, left: bool) -> list[Any]:
    """Kafka Streams: of the heads of both queues the earlier one is next, the table at a tie."""
    table: dict[bytes, Any] = {}
    joined: list[Any] = []
    ahead, behind = list(events), list(updates)
    while ahead:
        if behind and behind[0].timestamp_ms <= ahead[0].timestamp_ms:
            key, value, _ = behind.pop(0)
            if key is not None and value is None:
                table.pop(key, None)
            elif key is not None:
                table[key] = value
            continue
        key, value, _ = ahead.pop(0)
        row = None if key is None else table.get(key)
        if value is not None and (left or row is not None):
            joined.append((value, row))
    return joined


@given(events=EVENTS, updates=UPDATES, cuts=CUTS, left=st.booleans())
def test_each_event_sees_the_table_as_of_its_time_for_every_batch_size(
    events: list[Event], updates: list[Event], cuts: list[int], left: bool
) -> None:
    run = JoinRun(updates, left=left)
    edges = [0, *sorted(cuts), len(events)]
    for start, end in pairwise(edges):
        run.process(events[start:end])
    assert run.joined == model(events, updates, left=left)
    tally = run.tally
    left_out = tally.null_values + tally.keyless + tally.unmatched
    assert left_out == len(events) - len(run.joined)


def test_an_update_of_a_later_time_waits_for_it() -> None:
    run = JoinRun([Event(b"a", 1, 10), Event(b"a", 2, 30)], left=True)
    run.process([Event(b"a", 0, 9), Event(b"a", 0, 29)])
    assert run.joined == [(0, None), (0, 1)]
    assert run.position == 2
    run.process([Event(b"a", 0, 30), Event(b"a", 0, 5)])
    assert run.joined[2:] == [(0, 2), (0, 2)]
    assert run.position == 4


def test_an_event_whose_row_cannot_be_read_is_quarantined() -> None:
    run = JoinRun([], left=False)
    run.log = [Record(0, 0, 1, b"a", b"{")]
    run.process([Event(b"a", 0, 5)])
    assert run.joined == []
    assert run.tally.quarantined == 1
    assert run.bad[0].startswith("DecodeError")
