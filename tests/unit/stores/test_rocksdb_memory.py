"""One memory budget for all RocksDB stores of a process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from lastword.errors import ConfigError
from lastword.stores.rocksdb import RocksDBStore
from lastword.stores.rocksdb_memory import memory_budget, set_memory_budget

MEGABYTE = 1 << 20


@pytest.fixture
def small_budget() -> Iterator[int]:
    before = memory_budget().size_bytes
    set_memory_budget(16 * MEGABYTE)
    yield 16 * MEGABYTE
    set_memory_budget(before)


def test_there_is_one_budget() -> None:
    assert memory_budget() is memory_budget()


def test_many_stores_together_stay_within_the_budget(tmp_path: Path, small_budget: int) -> None:
    """Twelve stores, each written 2 MB through a file and 2 MB through the log, then read."""
    stores = [RocksDBStore(tmp_path / str(n), ingest_bytes_min=MEGABYTE) for n in range(12)]
    peak: Counter[str] = Counter()
    for store in stores:
        store.open()
        store.apply({b"%05d" % n: b"x" * 500 for n in range(4000)}, (), b"c")
        for first in range(0, 4000, 500):
            store.apply({b"%05d" % n: b"y" * 500 for n in range(first, first + 500)}, (), b"c")
            peak |= Counter(memory_budget().usage())
    for store in stores:
        assert sum(1 for _ in store.scan()) == 4000
        peak |= Counter(memory_budget().usage())
    for store in stores:
        store.close()
    assert MEGABYTE < peak["write_buffer_bytes"] <= small_budget // 4 + MEGABYTE
    # RocksDB charges write buffers to the cache in entries of 256 KB, so it may be one ahead.
    assert peak["cache_bytes"] <= small_budget + (MEGABYTE >> 2)


def test_a_budget_too_small_to_work_is_refused() -> None:
    before = memory_budget().size_bytes
    with pytest.raises(ConfigError):
        set_memory_budget(MEGABYTE)
    assert memory_budget().size_bytes == before
