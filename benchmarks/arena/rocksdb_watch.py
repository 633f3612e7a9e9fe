"""Samples what RocksDB holds in memory while a table is restored."""

from __future__ import annotations

from arena.sampling import Sampling
from lastword.stores.rocksdb_memory import memory_budget


class RocksDBWatch(Sampling):
    """Keeps the largest figures it saw between ``with`` and its end."""

    every_s = 0.02

    def __init__(self) -> None:
        super().__init__()
        self.most = {"rocksdb_" + name: used for name, used in memory_budget().usage().items()}

    def look(self) -> None:
        for name, used in memory_budget().usage().items():
            self.most["rocksdb_" + name] = max(self.most["rocksdb_" + name], used)
