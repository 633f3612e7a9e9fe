"""The store contract on RocksDBStore, through its write-ahead log and through ingested files."""

from __future__ import annotations

from pathlib import Path

from lastword.stores.rocksdb import RocksDBStore
from lastword.testing.persistent_store_contract import PersistentStoreContract


class TestRocksDBStore(PersistentStoreContract):
    def make_store(self, directory: Path) -> RocksDBStore:
        return RocksDBStore(directory)


class TestRocksDBStoreThatIngestsEverything(PersistentStoreContract):
    def make_store(self, directory: Path) -> RocksDBStore:
        return RocksDBStore(directory, ingest_bytes_min=0)
