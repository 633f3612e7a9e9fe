"""The store contract on LRUStore."""

from __future__ import annotations

from pathlib import Path

from lastword.stores.lru import LRUStore
from lastword.testing.evicting_store_contract import EvictingStoreContract


class TestLRUStore(EvictingStoreContract):
    def make_store(self, directory: Path) -> LRUStore:
        return LRUStore(100_000)

    def make_small_store(self, directory: Path, capacity: int) -> LRUStore:
        return LRUStore(capacity)
