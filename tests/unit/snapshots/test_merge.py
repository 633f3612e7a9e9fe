"""Column by column comes to the same as record by record."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lastword.keyspace import Keyspace
from lastword.records import FENCE_KEY
from lastword.snapshots.catalog import merge
from lastword.snapshots.catalog.merge import CHANGES, LatestPerKey, in_key_order, merged

Change = tuple[bytes | None, bytes | None]
KEYS = [b"", None, FENCE_KEY, *(b"k%d" % n for n in range(8))]
MANY = 50_000
BYTES_OF_A_ROW = 20 + 100 + 4 * 8  # the key, the value, their offsets; offset and timestamp
changes = st.lists(st.tuples(st.sampled_from(KEYS), st.none() | st.binary(max_size=3)), max_size=40)


def table(records: list[Change], first_offset: int) -> pa.Table:
    size = len(records)
    columns = [
        [key for key, _ in records],
        [value for _, value in records],
        [None] * size,
        list(range(first_offset, first_offset + size)),
        [0] * size,
    ]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, CHANGES, strict=True)], CHANGES)


def fold(records: list[Change]) -> dict[bytes, bytes]:
    state: dict[bytes, bytes] = {}
    for key, value in records:
        if key == FENCE_KEY:
            continue
        if key and value is not None and Keyspace(2).partition_of(key) == 0:
            state[key] = value
        elif key:
            state.pop(key, None)
    return state


def as_dict(unordered: pa.Table) -> dict[bytes, bytes]:
    rows = pa.Table.from_batches(in_key_order(unordered), unordered.schema)
    keys = rows["key"].to_pylist()
    assert keys == sorted(set(keys)), "rows are in key order, and each key has one"
    return dict(zip(keys, rows["value"].to_pylist(), strict=True))


@given(first=changes, second=changes, size=st.integers(1, 7))
def test_changes_merged_into_a_base_equal_the_state_of_the_whole_log(
    first: list[Change], second: list[Change], size: int
) -> None:
    base = merged(None, latest(first, 0, size))
    assert as_dict(base) == fold(first)
    rows = merged(base, latest(second, len(first), size))
    assert as_dict(rows) == fold(first + second)


@given(records=changes, first_offset=st.integers(0, 40))
def test_rows_before_the_start_of_the_log_are_skipped(
    records: list[Change], first_offset: int
) -> None:
    rows = merged(None, latest(records, 0, 5), first_offset=first_offset)
    assert min(rows["offset"].to_pylist(), default=first_offset) >= first_offset


def latest(records: list[Change], first_offset: int, size: int) -> pa.Table:
    """The records taken in small batches, reduced every few rows."""
    reader = LatestPerKey()
    before, merge._REDUCED_FROM_ROWS = merge._REDUCED_FROM_ROWS, size
    try:
        for batch in table(records, first_offset).to_batches(max_chunksize=size):
            reader.add(batch)
    finally:
        merge._REDUCED_FROM_ROWS = before
    assert reader.records == len(records)
    return reader.changes(0, Keyspace(2))


def test_a_partition_is_never_held_three_times() -> None:
    memory = pa.proxy_memory_pool(pa.default_memory_pool())
    before = pa.default_memory_pool()
    pa.set_memory_pool(memory)
    try:
        rows = sum(batch.num_rows for batch in in_key_order(merged(None, latest_of_many())))
    finally:
        pa.set_memory_pool(before)
    assert rows == MANY
    assert memory.max_memory() < 3 * MANY * BYTES_OF_A_ROW


def latest_of_many() -> pa.Table:
    """The rows of a log of which every record is the last of its key."""
    reader = LatestPerKey()
    for first in range(0, MANY, 1_000):
        numbers = range(first, first + 1_000)
        records: list[Change] = [(b"key-%016d" % n, bytes(100)) for n in numbers]
        reader.add(table(records, first).to_batches()[0])
    return reader.changes(0, Keyspace(1))
