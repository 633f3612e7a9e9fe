"""Stores that tasks keep open from batch to batch: who uses them, and when they are closed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest

from lastword.errors import FencedError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.write.transaction_writer import TransactionWriter
from lastword.pipelines.task import run_task as task
from lastword.pipelines.task.release_request import release_all
from lastword.pipelines.task.store_keeper import StoreKeeper
from lastword.replicas.state_directory import holder_of
from tests.support.on_spark.pipeline_worker import Worker, attempt, batch


@pytest.fixture
def worker(
    connection: Connection, admin: Admin, topic_name: str, tmp_path: Path
) -> Iterator[Worker]:
    worker = Worker(connection, admin, topic_name, tmp_path)
    worker.keeps_stores_after = 1
    yield worker
    worker.driver_lock.leave()
    worker.move_to_another_process()
    task._keeper.drop(task.writer_key(worker.plan, 1))


def directory(worker: Worker) -> Path:
    return worker.plan.state_dir / worker.plan.application_id / "counts" / "1"


def opening(worker: Worker) -> list[str]:
    """RocksDB writes a new manifest each time it opens a database."""
    return [each.name for each in (directory(worker) / "store").glob("MANIFEST-*")]


def test_a_store_stays_open_for_the_next_batch(worker: Worker) -> None:
    worker.run((0, "a"))
    first = opening(worker)
    assert worker.run((1, "a"), (2, "b"))["restored"] == 0
    assert opening(worker) == first
    assert holder_of(directory(worker)) is not None
    assert worker.table == {b"a": b"2", b"b": b"1"}
    assert release_all([directory(worker)], timeout_s=180.0) == []
    assert holder_of(directory(worker)) is None
    assert worker.run((3, "a"))["restored"] == 0
    assert opening(worker) != first
    assert worker.table == {b"a": b"3", b"b": b"1"}


def test_a_store_is_closed_until_its_partition_has_stayed_for_some_batches(worker: Worker) -> None:
    worker.keeps_stores_after = 2
    worker.run((0, "a"))
    assert holder_of(directory(worker)) is None
    worker.run((1, "a"))
    assert holder_of(directory(worker)) is not None


def test_a_store_goes_to_the_process_with_the_next_task_and_a_killed_one_holds_none(
    worker: Worker,
) -> None:
    with ProcessPoolExecutor(1, get_context("spawn")) as other:
        pid = other.submit(os.getpid).result(180)
        for offset in range(0, 4, 2):
            assert worker.run((offset, "a"))["restored"] == 0
            records = [(offset + 1, "a")]
            report = other.submit(attempt, worker.plan, worker.order, worker.source, records)
            assert report.result(180)["restored"] == 0
            holder = holder_of(directory(worker))
            assert holder is not None
            assert holder.pid == pid
        os.kill(pid, signal.SIGKILL)
    assert worker.run((4, "a"))["restored"] == 0
    assert worker.table == {b"a": b"5"}


def test_a_worker_whose_partition_ran_on_another_machine_closes_its_store(
    worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker.run((0, "a"))
    first, here = opening(worker), worker.plan
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(task, "_held", {})
        elsewhere.setattr(task, "_keeper", StoreKeeper())
        worker.plan = replace(here, state_dir=tmp_path / "elsewhere")
        worker.keeps_stores_after = None
        worker.run((1, "a"))
    worker.plan, worker.keeps_stores_after = here, 1
    assert worker.run((2, "a"))["restored"] == 1
    assert opening(worker) != first
    assert worker.table == {b"a": b"3"}


def test_a_worker_that_was_fenced_closes_its_store(worker: Worker) -> None:
    worker.run((0, "a"))
    first = opening(worker)
    TransactionWriter(worker.connection, worker.plan.transactional_id(1)).take_over()
    assert worker.run((1, "a"))["records"] == 1
    assert opening(worker) != first
    zombie = worker.order
    worker.driver_lock.leave()
    app = worker.plan.application_id
    worker.driver_lock = worker.join(app, f"{app}-control")
    with pytest.raises(FencedError):
        list(task.run_task(batch(worker.source, (2, "a")), worker.plan, zombie))
    assert holder_of(directory(worker)) is None
    assert worker.table == {b"a": b"2"}
