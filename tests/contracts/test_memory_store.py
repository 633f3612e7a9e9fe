"""The store contract on MemoryStore."""

from __future__ import annotations

from pathlib import Path

from lastword.stores.memory import MemoryStore
from lastword.testing.store_contract import StoreContract


class TestMemoryStore(StoreContract):
    def make_store(self, directory: Path) -> MemoryStore:
        return MemoryStore()
