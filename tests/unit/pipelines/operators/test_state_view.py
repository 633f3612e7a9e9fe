"""The view of a store during one batch: what it looks up, and the rows that it commits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.pipelines.graph.node import StorePlan
from lastword.pipelines.graph.task_plan import TaskPlan
from lastword.pipelines.operators.state_view import StateView
from lastword.pipelines.task.partition_state import PartitionState
from lastword.records import Headers
from lastword.rows import decode_row
from lastword.stores.memory import MemoryStore

KEYS = st.integers(0, 40).map(lambda n: b"%d" % n)
HEADERS: st.SearchStrategy[Headers] = st.sampled_from([(), (), (("h", b"1"),)])
PUTS = st.tuples(KEYS, st.none() | st.binary(max_size=9), st.integers(0, 99), HEADERS)
BATCHES = st.lists(st.lists(PUTS, max_size=40), min_size=1, max_size=4)


class ReadStore(MemoryStore):
    """Keeps the keys that were looked up."""

    def __init__(self) -> None:
        super().__init__()
        self.looked_up: list[bytes] = []

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self.looked_up += keys
        return super().get_many(keys)


@pytest.fixture
def store() -> ReadStore:
    store = ReadStore()
    store.open()
    store.apply({b"old": b"row"}, (), b"checkpoint")
    return store


@given(batches=BATCHES, every_update=st.booleans())
def test_each_row_is_that_of_its_record_in_the_changelog(
    batches: list[list[tuple[bytes, bytes | None, int, Headers]]], every_update: bool
) -> None:
    store = MemoryStore()
    store.open()
    log: list[tuple[bytes, bytes | None, int, Headers]] = []
    for batch in batches:
        view = StateView(store, every_update=every_update)
        for put in batch:
            view.put(*put)
        before = store.count()
        log += view.updates()
        added = view.rows_added()
        view.commit(b"checkpoint", len(log))
        assert store.count() == before + added
    last = {key: (offset, *update) for offset, (key, *update) in enumerate(log)}
    rows = {key: decode_row(row) for key, row in store.scan()}
    assert {
        key: (row.offset, row.value, row.timestamp_ms, row.headers) for key, row in rows.items()
    } == {key: each for key, each in last.items() if each[1] is not None}


def test_a_key_that_was_read_is_not_looked_up_again(store: ReadStore) -> None:
    view = StateView(store, every_update=False)
    view.get_with_times([b"new"])
    view.put_many([b"new", b"old"], [b"1", b"2"], [3, 4])
    assert view.rows_added() == 1
    assert store.looked_up == [b"new", b"old"]


def test_a_key_that_is_known_to_be_absent_is_not_looked_up(store: ReadStore) -> None:
    view = StateView(store, every_update=False)
    keys = [b"new", b"old", b"newer"]
    assert view.stored_rows(keys, np.array([True, False, True])) == [None, b"row", None]
    view.put_many(keys, [b"1", b"2", b"3"], [3, 4, 5])
    assert view.rows_added() == len(view.created_and_deleted()) == 2
    assert store.looked_up == [b"old"]


@pytest.fixture
def state(tmp_path: Path) -> Iterator[PartitionState]:
    nowhere = Connection(bootstrap_servers="localhost:1")
    plan = TaskPlan("app", nowhere, 1, {}, (), "quarantine", tmp_path)
    state = PartitionState(plan, StorePlan("counts", None), 0, KafkaLog(nowhere))
    yield state
    state.close()


def test_a_commit_reads_no_row_that_the_batch_has_read(state: PartitionState) -> None:
    rows = {b"key-%d" % n: b"value" for n in range(50)}
    for number in (1, 2):
        view = state.view()
        view.get_many(list(rows))
        view.put_many(list(rows), list(rows.values()), [number] * len(rows))
        read = state._store.stats()["bytes_read_total"]
        state.commit(view, 0)
        # Nothing but the checkpoint, which is eight bytes.
        assert state._store.stats()["bytes_read_total"] - read <= 8
        assert state.size().rows == len(rows)
