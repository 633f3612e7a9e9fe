"""ProtectionLog at what RocksDB holds in memory while a table is restored."""

from __future__ import annotations

import threading
from types import TracebackType

from lastword.stores.rocksdb_memory import memory_budget

_EVERY_S = 0.02


class RocksDBWatch:
    """Keeps the largest figures it saw between ``with`` and its end."""

    def __init__(self) -> None:
        self.most = {"rocksdb_" + name: used for name, used in memory_budget().usage().items()}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> RocksDBWatch:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(_EVERY_S):
            for name, used in memory_budget().usage().items():
                self.most["rocksdb_" + name] = max(self.most["rocksdb_" + name], used)
