"""What a user may write for ``store=``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lastword.errors import ConfigError
from lastword.stores.factory import store_factory
from lastword.stores.lru import LRUStore
from lastword.stores.memory import MemoryStore
from lastword.stores.rocksdb import RocksDBStore


@pytest.mark.parametrize(
    ("spec", "made", "persistent"),
    [("memory", MemoryStore, False), ("rocksdb", RocksDBStore, True), ("lru:10", LRUStore, False)],
)
def test_a_name_makes_a_new_store_for_every_partition(
    spec: str, made: type, persistent: bool, tmp_path: Path
) -> None:
    factory = store_factory(spec)
    stores = [factory(partition, tmp_path / str(partition)) for partition in range(2)]
    assert [type(store) for store in stores] == [made, made]
    assert stores[0] is not stores[1]
    assert factory.persistent is persistent
    assert stores[0].capabilities.persistent is persistent


def test_the_number_of_an_lru_store_is_its_capacity() -> None:
    assert store_factory("lru:10")(0, None).capabilities.capacity == 10


@pytest.mark.parametrize(
    "spec", ["", "Memory", "redis", "lru", "lru:", "lru:0", "lru:-1", "lru:ten", "memory:5", 7]
)
def test_anything_else_is_refused_with_the_possible_values(spec: Any) -> None:
    with pytest.raises(ConfigError) as raised:
        store_factory(spec)
    assert "lru:CAPACITY" in str(raised.value.hint)


def test_an_lru_store_needs_room_for_a_row() -> None:
    with pytest.raises(ConfigError):
        LRUStore(0)


def test_a_callable_gets_partition_and_directory(tmp_path: Path) -> None:
    calls = []

    def make(partition: int, directory: Path) -> MemoryStore:
        calls.append((partition, directory))
        return MemoryStore()

    assert isinstance(store_factory(make)(3, tmp_path), MemoryStore)
    assert calls == [(3, tmp_path)]


def test_a_callable_that_makes_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a store"):
        store_factory(lambda _partition, _directory: {})(0, tmp_path)  # type: ignore[arg-type, return-value]


def test_one_ready_store_serves_one_partition(tmp_path: Path) -> None:
    store = MemoryStore()
    factory = store_factory(store)
    assert factory(0, None) is store
    assert factory(0, None) is store
    with pytest.raises(ConfigError, match="several partitions"):
        factory(1, None)


def test_a_store_that_keeps_files_needs_a_directory() -> None:
    with pytest.raises(ConfigError, match="directory"):
        store_factory("rocksdb")(0, None)
