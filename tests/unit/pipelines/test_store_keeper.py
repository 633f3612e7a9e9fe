"""Stores that stay open between two batches, and who gets them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.pipelines.graph.node import StorePlan
from lastword.pipelines.graph.task_plan import TaskPlan
from lastword.pipelines.task.release_request import ask_to_release, release_all
from lastword.pipelines.task.store_keeper import StoreKeeper
from lastword.pipelines.task.task_stores import TaskStores
from lastword.replicas.state_directory import holder_of
from lastword.testing.waiting import wait_until

KEY = ("localhost:1", "app:events:0")
NOWHERE = Connection(bootstrap_servers="localhost:1")
Open = Callable[..., TaskStores]


@pytest.fixture
def open_stores(tmp_path: Path) -> Iterator[Open]:
    plan = TaskPlan("app", NOWHERE, 1, {}, (), "quarantine", tmp_path)
    opened: list[TaskStores] = []

    def open_them(*names: str) -> TaskStores:
        """As a task that finds none kept: waits for the locks."""
        opened.append(TaskStores(plan, 0, KafkaLog(NOWHERE)))
        for name in names or ("counts",):
            opened[-1].state(StorePlan(name, None))
        return opened[-1]

    yield open_them
    for stores in opened:
        stores.close()


def are_open(directories: list[Path]) -> bool:
    return any(holder_of(each) is not None for each in directories)


def test_the_next_task_of_the_generation_gets_the_same_open_stores(open_stores: Open) -> None:
    keeper, stores = StoreKeeper(), open_stores()
    directories = stores.directories
    for _ in range(3):
        keeper.keep(KEY, b"generation 1", stores)
        assert are_open(directories)
        assert keeper.take(KEY, b"generation 1") is stores
    assert keeper.take(KEY, b"generation 1") is None


def test_stores_of_another_generation_are_closed(open_stores: Open) -> None:
    keeper, stores = StoreKeeper(), open_stores()
    directories = stores.directories
    keeper.keep(KEY, b"generation 1", stores)
    assert keeper.take(KEY, b"generation 2") is None
    assert not are_open(directories)


def test_a_task_elsewhere_gets_the_stores_that_are_kept(open_stores: Open) -> None:
    keeper = StoreKeeper()
    keeper.keep(KEY, b"generation 1", open_stores())
    keeper.keep(("localhost:1", "app:events:1"), b"generation 1", open_stores())
    assert keeper.take(KEY, b"generation 1") is None


def test_stores_that_no_batch_needs_are_closed_after_a_while(open_stores: Open) -> None:
    keeper, stores = StoreKeeper(keep_s=0.0), open_stores()
    directories = stores.directories
    keeper.keep(KEY, b"generation 1", stores)
    wait_until(lambda: not are_open(directories), "the stores are closed")
    assert keeper.take(KEY, b"generation 1") is None


def test_once_released_the_stores_are_closed(open_stores: Open) -> None:
    keeper, stores = StoreKeeper(), open_stores()
    directories = stores.directories
    keeper.keep(KEY, b"generation 1", stores)
    assert release_all(directories, timeout_s=180.0) == []
    assert not are_open(directories)
    assert [each.name for each in directories[0].iterdir()].count(".release") == 0


def test_a_store_in_use_is_not_released(open_stores: Open) -> None:
    keeper, stores = StoreKeeper(), open_stores()
    keeper.keep(KEY, b"generation 1", stores)
    keeper.take(KEY, b"generation 1")
    assert not any(ask_to_release(each) for each in stores.directories)
    assert are_open(stores.directories)


def test_the_pipe_of_a_killed_worker_is_nobody(open_stores: Open) -> None:
    keeper, stores = StoreKeeper(), open_stores()
    directory = stores.directories[0]
    os.mkfifo(directory / ".release")
    assert not ask_to_release(directory)
    keeper.keep(KEY, b"generation 1", stores)
    assert release_all([directory], timeout_s=180.0) == []


def test_without_named_pipes_stores_are_closed_after_each_batch(open_stores: Open) -> None:
    keeper, stores = StoreKeeper(), open_stores("counts", "sums")
    directories = stores.directories
    (directories[1] / ".release").mkdir()
    keeper.keep(KEY, b"generation 1", stores)
    assert keeper.take(KEY, b"generation 1") is None
    assert not are_open(directories)
