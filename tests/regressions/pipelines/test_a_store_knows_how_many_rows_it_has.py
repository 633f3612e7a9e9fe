"""The rows of a pipeline's store were RocksDB's estimate.

That counts the checkpoint, and every version of a row until it is compacted: two too many in each
partition at first, and twice as many after the same keys had come again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shutil import rmtree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.pipelines.graph.node import StatefulNode
from lastword.pipelines.graph.task_plan import BatchOrder
from lastword.pipelines.operators.state_view import StateView
from lastword.pipelines.task import run_task as task
from lastword.pipelines.task.task_report import StoreSize, from_row
from lastword.stores.memory import MemoryStore
from tests.support.on_spark.pipeline_worker import Worker, batch


@pytest.fixture
def worker(connection: Connection, topic_name: str, tmp_path: Path) -> Iterator[Worker]:
    with Admin(connection) as admin:
        worker = Worker(connection, admin, topic_name, tmp_path)
        yield worker
        worker.driver_lock.leave()
        worker.move_to_another_process()


def size_after(worker: Worker, *records: tuple[int, str]) -> StoreSize:
    order = BatchOrder(worker.committed, worker.driver_lock.metadata)
    (row,) = task.run_task(batch(worker.source, *records), worker.plan, order)
    return from_row(row.to_pylist()[0]).stores["counts"]


@pytest.mark.parametrize("backed_up", [True, False])
def test_rows_are_exact_after_every_batch(worker: Worker, backed_up: bool) -> None:
    if not backed_up:
        *before, count = worker.plan.nodes
        assert isinstance(count, StatefulNode)
        store = replace(count.stores[0], changelog=None)
        worker.plan = replace(worker.plan, nodes=(*before, replace(count, stores=(store,))))
    assert size_after(worker, (0, "a"), (1, "b"), (2, "a")).rows == 2
    assert size_after(worker, (3, "a"), (4, "b")).rows == 2
    assert size_after(worker, (5, "c")).rows == 3


def test_rows_are_exact_after_a_restore(worker: Worker, tmp_path: Path) -> None:
    size_after(worker, (0, "a"), (1, "b"))
    rmtree(tmp_path / worker.plan.application_id)
    assert size_after(worker, (2, "b"), (3, "c")).rows == 3


Changes = st.dictionaries(st.sampled_from([b"a", b"b", b"c"]), st.none() | st.just(b"1"))


@given(st.lists(st.tuples(Changes, st.booleans()), max_size=6))
def test_a_batch_knows_how_many_rows_it_adds(batches: list[tuple[dict[bytes, None], bool]]) -> None:
    store = MemoryStore()
    store.open()
    rows = 0
    for changes, looks_first in batches:
        view = StateView(store, every_update=False)
        if looks_first:
            view.get_many([b"a", b"b"])
        for key, value in changes.items():
            view.put(key, value, 0)
        rows += view.rows_added()
        view.commit(b"checkpoint")
        assert rows == store.count()
