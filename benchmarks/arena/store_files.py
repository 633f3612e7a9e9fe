"""What the files of a contestant's RocksDB stores take: at most, at rest and once compacted."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from rocksdict import Rdict

from arena.sampling import Sampling
from lastword.stores.rocksdb_memory import memory_budget
from lastword.stores.rocksdb_options import database_options
from lastword.table.table import Table

_EVERY_S = 0.1
_SETTLE_S = 300.0


class DiskWatch(Sampling):
    """Keeps the most that a directory took between ``with`` and its end, as seen from outside."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.most_bytes = 0
        self._path = path

    def look(self) -> None:
        self.most_bytes = max(self.most_bytes, directory_bytes(self._path))


def directory_bytes(path: Path) -> int:
    """What the files below ``path`` take; those that are removed meanwhile do not count."""
    found = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with suppress(FileNotFoundError):
                found += os.stat(os.path.join(folder, name)).st_size  # noqa: PTH116, PTH118 - often
    return found


def wait_until_settled(table: Table) -> None:
    """Until RocksDB has nothing left to compact by itself."""
    deadline = time.monotonic() + _SETTLE_S
    while time.monotonic() < deadline:
        stats = [each.store_stats for each in table.partitions()]
        if not any(
            each["running_compactions"] or each["pending_compaction_bytes"] for each in stats
        ):
            return
        time.sleep(_EVERY_S)
    raise SystemExit(f"RocksDB still compacted after {_SETTLE_S:.0f} s")


def compact(state_dir: Path) -> None:
    """Merge all files of each store below the directory, which no process has open."""
    for found in state_dir.rglob("CURRENT"):
        options = database_options(memory_budget())
        database = Rdict(str(found.parent), options, {"default": options})
        database.compact_range(None, None)
        database.close()
