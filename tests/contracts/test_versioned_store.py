"""The store contract on rows that have pasts beside them, over both kinds of store."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from lastword.stores.memory import MemoryStore
from lastword.stores.rocksdb import RocksDBStore
from lastword.stores.versioned import PastChanges, VersionedStore, keeps_versions
from lastword.testing.persistent_store_contract import PersistentStoreContract
from lastword.testing.store_contract import StoreContract


class WithPasts(VersionedStore):
    """Leaves a past behind for every key it writes, which no read of rows may ever show."""

    def apply(
        self, puts: Mapping[bytes, bytes], deletes: Collection[bytes], checkpoint: bytes
    ) -> None:
        keys = list(puts)
        added = sum(past is None for _, past in self.versions(keys))
        past = PastChanges(dict.fromkeys(keys, b"a past"), (), added)
        self.apply_with_past(puts, deletes, past, checkpoint)


class TestVersionedMemoryStore(StoreContract):
    def make_store(self, directory: Path) -> VersionedStore:
        return WithPasts(MemoryStore())


class TestVersionedRocksDBStore(PersistentStoreContract):
    def make_store(self, directory: Path) -> VersionedStore:
        return WithPasts(RocksDBStore(directory))


def test_rows_and_pasts_change_together_and_are_counted_apart(tmp_path: Path) -> None:
    store = VersionedStore(RocksDBStore(tmp_path / "store"))
    store.open()
    puts, past = {b"a": b"2", b"b": b"1"}, PastChanges({b"a": b"1", b"gone": b"0"}, (), 2)
    store.apply_with_past(puts, (), past, b"here")
    store.close()
    store.open()
    assert store.versions([b"a", b"b", b"gone"]) == [(b"2", b"1"), (b"1", None), (None, b"0")]
    assert (store.count(), store.checkpoint(), len(list(store.scan()))) == (2, b"here", 2)
    assert store.keys_with_past(b"", 10) == [b"a", b"gone"]
    assert store.keys_with_past(b"a\0", 10) == [b"gone"]
    store.apply_with_past({}, [b"a"], PastChanges({}, [b"a", b"gone"], -2), b"there")
    assert (store.count(), store.keys_with_past(b"", 10)) == (1, [])
    store.close()


def test_a_store_kept_without_versions_is_recognized(tmp_path: Path) -> None:
    plain = RocksDBStore(tmp_path / "store")
    plain.open()
    plain.apply({b"r": b"1"}, (), b"checkpoint")
    assert not keeps_versions(plain)
    plain.close()
    versioned = VersionedStore(plain)
    versioned.open()
    assert versioned.checkpoint() == b""
    versioned.clear()
    versioned.apply({b"a": b"1"}, (), b"checkpoint")
    assert keeps_versions(plain)
    versioned.close()
