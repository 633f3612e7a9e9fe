"""What a store with a capacity must do beyond ``StoreContract``."""

# ruff: noqa: D102 - the names of the tests are sentences

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path

import pytest

from lastword.stores.base import Store
from lastword.testing.store_contract import StoreContract


class EvictingStoreContract(StoreContract):
    """For stores whose ``capabilities.capacity`` is a number.

    The stores of ``make_store`` need room for the 30 000 rows of the other tests.
    """

    @abstractmethod
    def make_small_store(self, directory: Path, capacity: int) -> Store:
        """A store that keeps ``capacity`` rows."""

    @pytest.fixture
    def three(self, tmp_path: Path) -> Store:
        """An open store for three rows that holds a, b and c."""
        store = self.make_small_store(tmp_path / "small", 3)
        store.open()
        store.apply({b"a": b"1", b"b": b"2", b"c": b"3"}, (), b"c")
        return store

    def test_it_tells_its_capacity(self, three: Store) -> None:
        assert three.capabilities.capacity == 3

    def test_nothing_is_evicted_up_to_the_capacity(self, three: Store) -> None:
        assert three.evict() == []
        assert three.count() == 3

    def test_applying_beyond_the_capacity_drops_nothing_by_itself(self, three: Store) -> None:
        three.apply({b"%d" % n: b"row" for n in range(10)}, (), b"c")
        assert three.count() == 13
        assert three.get(b"a") == b"1"

    def test_the_oldest_rows_are_evicted_and_named(self, three: Store) -> None:
        three.apply({b"d": b"4", b"e": b"5"}, (), b"checkpoint")
        scan = three.scan()
        assert three.evict() == [b"a", b"b"]
        assert [key for key, _ in three.scan()] == [b"c", b"d", b"e"]
        assert [key for key, _ in scan] == [b"a", b"b", b"c", b"d", b"e"]
        assert three.count() == 3
        assert three.get(b"a") is None
        assert three.checkpoint() == b"checkpoint"
        assert three.evict() == []

    def test_reading_a_key_keeps_it(self, three: Store) -> None:
        three.get(b"a")
        three.get_many([b"absent", b"b"])
        three.apply({b"d": b"4"}, (), b"c")
        assert three.evict() == [b"c"]

    def test_writing_a_key_again_keeps_it(self, three: Store) -> None:
        three.apply({b"a": b"new"}, (), b"c")
        three.apply({b"d": b"4"}, (), b"c")
        assert three.evict() == [b"b"]
        assert three.get(b"a") == b"new"

    def test_scanning_is_not_using(self, three: Store) -> None:
        list(three.scan(b"a", b"b"))
        three.apply({b"d": b"4"}, (), b"c")
        assert three.evict() == [b"a"]

    def test_a_deleted_row_makes_room(self, three: Store) -> None:
        three.apply({b"d": b"4"}, [b"b"], b"c")
        assert three.evict() == []
        assert three.count() == 3
