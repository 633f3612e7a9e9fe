"""What RocksDBStore promises beyond the store contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import shuffle

import pytest

from lastword.errors import StoreCorruptedError, StoreError, StoreLockedError
from lastword.stores.layered_rows import Layer, LayeredRows
from lastword.stores.rocksdb import INGEST_BYTES_MIN, SCANNED_FOR_MIN, RocksDBStore
from lastword.stores.rocksdb_memory import memory_budget

BIG_ROW = b"x" * 1000
LARGE = {b"%06d" % n: b"%06d" % n + BIG_ROW for n in range(INGEST_BYTES_MIN // 1000)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(path: Path) -> Iterator[RocksDBStore]:
    store = RocksDBStore(path)
    store.open()
    yield store
    store.close()


def newest_options(path: Path) -> str:
    return max(path.glob("OPTIONS-*"), key=lambda file: file.name).read_text()


def files(path: Path) -> list[Path]:
    return sorted(path.glob("[0-9]*.sst"))


def damage(file: Path, where: float) -> None:
    """Overwrite some bytes at a place between 0 (start) and 1 (end)."""
    content = bytearray(file.read_bytes())
    place = int(len(content) * where)
    content[place : place + 64] = b"\xa5" * 64
    file.write_bytes(content)


def test_a_small_batch_is_logged_and_a_large_one_becomes_a_file(
    store: RocksDBStore, path: Path
) -> None:
    store.apply({b"a": b"1"}, (), b"first")
    assert files(path) == []
    store.apply(LARGE, [b"a"], b"second")
    assert files(path)
    assert store.count() == len(LARGE)
    assert store.get(b"a") is None
    assert store.checkpoint() == b"second"
    store.apply({b"a": b"2"}, [b"000000"], b"third")
    assert store.count() == len(LARGE)
    assert (store.get(b"a"), store.get(b"000000")) == (b"2", None)


@pytest.mark.parametrize("ingest_bytes_min", [1, INGEST_BYTES_MIN], ids=["file", "log"])
@pytest.mark.parametrize("counted", [False, True])
def test_the_last_of_several_layers_counts(
    path: Path, ingest_bytes_min: int, counted: bool
) -> None:
    store = RocksDBStore(path, ingest_bytes_min=ingest_bytes_min)
    store.open()
    store.apply({b"old": b"0", b"gone": b"0"}, (), b"first")
    if counted:
        assert store.count() == 2
    first: Layer = {b"a": b"1", b"b": b"1"}
    puts = LayeredRows([first, {b"a": None, b"b": b"2", b"gone": None}, {b"a": b"3"}])
    assert dict(puts) == {b"a": b"3", b"b": b"2"}
    assert (b"a" in puts, b"gone" in puts, b"" in puts, len(puts)) == (True, False, False, 2)
    store.apply(puts, {b"gone"}, b"second")
    assert dict(store.scan()) == {b"a": b"3", b"b": b"2", b"old": b"0"}
    assert (store.count(), store.checkpoint()) == (3, b"second")
    with pytest.raises(StoreError, match="empty key"):
        store.apply(LayeredRows([{b"": b"1"}, {b"a": b"4"}]), (), b"third")
    store.close()


def test_files_of_a_killed_restore_are_removed(store: RocksDBStore, path: Path) -> None:
    store.close()
    (path / "ingested.sst").write_bytes(b"half a file")
    store.open()
    assert not (path / "ingested.sst").exists()


def test_the_file_of_a_restore_in_another_process_is_kept(store: RocksDBStore, path: Path) -> None:
    (path / "ingested.sst").write_bytes(b"being written")
    with pytest.raises(StoreLockedError):
        RocksDBStore(path).open()
    assert (path / "ingested.sst").exists()


def test_options_survive_reopening(store: RocksDBStore, path: Path) -> None:
    """rocksdict keeps none of them, and would open the stored ones with a cache of its own."""
    created = newest_options(path)
    store.close()
    for stale in path.glob("OPTIONS-*"):
        stale.rename(stale.with_name("OLD-" + stale.name))
    store.open()
    store.close()
    store.open()
    reopened = newest_options(path)
    for setting in (
        "filter_policy=bloomfilter",
        "cache_index_and_filter_blocks=true",
        "level0_file_num_compaction_trigger=8",
        "compression=kLZ4Compression",
        "arena_block_size=65536",
    ):
        assert setting in created
        assert setting in reopened


def test_a_reopened_store_reads_through_the_shared_budget(store: RocksDBStore) -> None:
    store.apply(LARGE, (), b"c")
    store.close()
    store.open()
    before = memory_budget().usage()["cache_bytes"]
    assert sum(1 for _ in store.scan()) == len(LARGE)
    assert memory_budget().usage()["cache_bytes"] > before + INGEST_BYTES_MIN // 2


def test_many_small_rows_become_a_file(store: RocksDBStore, path: Path) -> None:
    rows = {b"%06d" % n: b"1" for n in range(60_000)}
    store.apply(rows, (), b"c")
    assert len(files(path)) == 1
    assert (store.get(b"000007"), store.checkpoint(), store.count()) == (b"1", b"c", len(rows))


def test_clearing_frees_the_disk(store: RocksDBStore) -> None:
    store.apply(LARGE, (), b"c")
    assert store.size_bytes() > INGEST_BYTES_MIN
    store.clear()
    assert store.size_bytes() < 100_000


@pytest.mark.parametrize(
    "break_it",
    [
        lambda path: next(path.glob("MANIFEST-*")).write_bytes(b"garbage"),
        lambda path: (path / "CURRENT").write_bytes(b"garbage"),
        lambda path: files(path)[0].unlink(),
        lambda path: files(path)[0].write_bytes(b"cut off"),
    ],
    ids=["manifest", "current", "file missing", "file cut off"],
)
def test_files_that_cannot_be_read_are_called_corrupted(
    store: RocksDBStore, path: Path, break_it: Callable[[Path], object]
) -> None:
    store.apply(LARGE, (), b"c")
    store.close()
    break_it(path)
    with pytest.raises(StoreCorruptedError) as raised:
        store.open()
    assert str(path) in str(raised.value)
    assert "rebuilds" in str(raised.value.hint)


@pytest.mark.parametrize("asked", [10, SCANNED_FOR_MIN, len(LARGE)])
def test_many_rows_are_equal_by_scan_and_by_lookup(store: RocksDBStore, asked: int) -> None:
    store.apply(LARGE, (), b"checkpoint")
    keys = [b"", *list(LARGE)[:asked], b"absent", b"000000"]
    shuffle(keys)
    assert store.get_many(keys) == [LARGE.get(key) for key in keys]


@pytest.mark.parametrize(
    "read",
    [
        lambda store: list(store.scan()),
        lambda store: list(store.scan(reverse=True)),
        lambda store: list(store.scan(b"001000", b"003000")),
        lambda store: store.count(),
        lambda store: [store.get(key) for key in LARGE],
        lambda store: store.get_many(list(LARGE)),
        lambda store: [store.get_many([key]) for key in LARGE],
    ],
    ids=["scan", "reverse scan", "range", "count", "get", "get_many", "get_many of few"],
)
def test_a_damaged_block_is_an_error_and_never_an_end(
    store: RocksDBStore, path: Path, read: Callable[[RocksDBStore], object]
) -> None:
    store.apply(LARGE, (), b"c")
    store.close()
    damage(files(path)[0], where=0.5)
    store.open()
    with pytest.raises(StoreCorruptedError):
        read(store)


def test_damage_that_was_found_once_is_recorded(store: RocksDBStore, path: Path) -> None:
    """Opening reads few blocks: without a mark, a table would fail at the same one for ever."""
    store.apply(LARGE, (), b"c")
    store.close()
    damage(files(path)[0], where=0.5)
    store.open()
    with pytest.raises(StoreCorruptedError):
        store.count()
    store.close()
    with pytest.raises(StoreCorruptedError):
        store.open()


def test_clearing_a_damaged_store_says_that_it_is_damaged(path: Path) -> None:
    """RocksDB takes no more writes once it met the damage, so an empty store is not enough."""
    store = RocksDBStore(path)
    store.open()
    store.apply(LARGE, (), b"c")
    store.close()
    damage(files(path)[0], where=0.5)
    store.open()
    with pytest.raises(StoreCorruptedError):
        store.clear()
    with pytest.raises(StoreCorruptedError):
        store.close()
    store.close()


def test_a_path_that_cannot_be_a_directory_is_a_store_error(path: Path) -> None:
    path.write_text("a file")
    with pytest.raises(StoreError, match="RocksDB failed"):
        RocksDBStore(path).open()


def test_counting_notes_changes_only_after_the_first_question(store: RocksDBStore) -> None:
    """A restore must not look up every key; once asked, large batches count too."""
    looked_up: list[int] = []
    read_topic_state = store._look_up
    store._look_up = lambda keys: looked_up.append(len(keys)) or read_topic_state(keys)  # type: ignore[method-assign, func-returns-value]
    store.apply(LARGE, (), b"c")
    store.apply({b"a": b"1"}, (), b"c")
    assert looked_up == []
    assert store.count() == len(LARGE) + 1
    store.apply(LARGE | {b"b": BIG_ROW}, [b"a", b"absent"], b"c")
    assert store.count() == len(LARGE) + 1
    assert sum(looked_up) == len(LARGE) + 3
    looked_up.clear()
    store.clear()
    store.apply(LARGE, (), b"c")
    assert looked_up == []
    assert store.count() == len(LARGE)


def test_large_rows_are_scanned_in_small_chunks(store: RocksDBStore) -> None:
    megabyte = b"x" * (1 << 20)
    store.apply({b"%03d" % n: megabyte for n in range(20)}, (), b"c")
    scan = store.scan()
    seen = [next(scan)[0] for _ in range(17)]
    (cursor,) = store._cursors
    assert len(cursor._chunk) == 1
    seen += [key for key, _ in scan]
    assert seen == [b"%03d" % n for n in range(20)]


def test_statistics_report_disk_and_memory(store: RocksDBStore) -> None:
    store.apply(LARGE, (), b"c")
    store.apply({b"a": b"1"}, (), b"c")
    stats = store.stats()
    assert stats["file_bytes"] > INGEST_BYTES_MIN
    assert stats["write_buffer_bytes"] > 0
    assert stats["estimated_rows"] >= len(LARGE)
