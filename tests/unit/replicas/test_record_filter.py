"""A whole batch is judged as if its records had been taken one by one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.errors import TopicUnfitError
from lastword.keyspace import Keyspace
from lastword.records import Batch
from lastword.replicas.apply.record_filter import FilteredBatch, RecordFilter
from lastword.rows import decode_row
from tests.support.local_tables.offline_topic import batch_of

PARTITIONS = 3
KEYS = [b"user-%d" % n for n in range(12)]
HERE = [key for key in KEYS if Keyspace(PARTITIONS).partition_of(key) == 0]
ELSEWHERE = [key for key in KEYS if Keyspace(PARTITIONS).partition_of(key) != 0]


def why_bad(_keys: object, values: Sequence[bytes], _headers: object) -> dict[int, str]:
    return {i: "bad" for i, each in enumerate(values) if each.startswith(b"!")}


def values_of(filtered: FilteredBatch) -> dict[bytes, bytes]:
    return {key: decode_row(row).value for key, row in filtered.puts.items()}


def one_by_one(batch: Batch, *, quarantine: bool) -> tuple[dict[bytes, bytes | None], int, int]:
    """The same by the plainest possible code: what each key comes to, and what was left out."""
    state: dict[bytes, bytes | None] = {}
    keyless = strays = 0
    for record in batch.records():
        if not record.key:
            keyless += 1
        elif Keyspace(PARTITIONS).partition_of(record.key) != batch.partition:
            strays += 1
        elif not (quarantine and (record.value or b"").startswith(b"!")):
            state[record.key] = record.value
    return state, keyless, strays


PAIRS = st.lists(
    st.tuples(
        st.sampled_from([*KEYS, None, b""]), st.sampled_from([b"1", b"2", b"", b"!", b"!!", None])
    ),
    max_size=30,
)


@given(PAIRS, st.booleans())
def test_a_batch_gives_the_same_result_as_its_records_one_by_one(
    pairs: list[tuple[bytes | None, bytes | None]], quarantine: bool
) -> None:
    batch = batch_of(pairs, first=100)
    filtered = RecordFilter(Keyspace(PARTITIONS), why_bad if quarantine else None).filtered(batch)
    state, keyless, strays = one_by_one(batch, quarantine=quarantine)
    assert values_of(filtered) == {key: v for key, v in state.items() if v is not None}
    assert set(filtered.deletes) == {key for key, v in state.items() if v is None}
    assert (filtered.keyless, filtered.misplaced) == (keyless, strays)


def test_the_last_record_of_a_key_wins_with_its_offset_and_timestamp() -> None:
    filtered = RecordFilter(Keyspace(1)).filtered(
        batch_of([(b"a", b"1"), (b"b", b"2"), (b"a", b"3")], first=7)
    )
    row = decode_row(filtered.puts[b"a"])
    assert (row.value, row.offset, row.timestamp_ms) == (b"3", 9, 9)


def test_headers_are_kept() -> None:
    headers = (("origin", b"here"), ("empty", None))
    batch = batch_of([(b"a", b"1"), (b"b", b"2")], headers=[headers, None])
    filtered = RecordFilter(Keyspace(1)).filtered(batch)
    assert decode_row(filtered.puts[b"a"]).headers == headers
    assert decode_row(filtered.puts[b"b"]).headers == ()


def test_a_tombstone_empty_bytes_and_json_null_are_three_things() -> None:
    filtered = RecordFilter(Keyspace(1)).filtered(
        batch_of([(b"a", None), (b"b", b""), (b"c", b"null")])
    )
    assert filtered.deletes == [b"a"]
    assert values_of(filtered) == {b"b": b"", b"c": b"null"}


def test_windowed_keys_belong_where_their_inner_key_belongs() -> None:
    window = b"\0\0\1\2\3\4\5\6"
    key = HERE[0] + window
    assert RecordFilter(Keyspace(PARTITIONS, 8)).filtered(batch_of([(key, b"1")])).misplaced == 0
    assert (
        RecordFilter(Keyspace(PARTITIONS, 8))
        .filtered(batch_of([(ELSEWHERE[0] + window, b"1")]))
        .misplaced
        == 1
    )


@pytest.mark.parametrize(
    ("values", "row", "bad_offsets"),
    [
        ([b"!", b"1", b"2"], b"2", []),
        ([b"1", b"!", b"2"], b"2", []),
        ([b"1", b"2", b"!"], b"2", [2]),
        ([b"1", b"!", b"!"], b"1", [1, 2]),
        ([b"!", b"!"], None, [0, 1]),
        ([b"1", None, b"!"], None, [2]),
        ([b"!", None], None, []),
    ],
)
def test_a_key_with_bad_records_keeps_the_last_good_one(
    values: list[bytes | None], row: bytes | None, bad_offsets: list[int]
) -> None:
    filtered = RecordFilter(Keyspace(1), why_bad).filtered(
        batch_of([(b"a", value) for value in values])
    )
    assert values_of(filtered).get(b"a") == row
    assert sorted(bad.offset for bad in filtered.quarantined) == bad_offsets


def test_records_for_watchers_are_every_change_that_belongs_to_the_table() -> None:
    pairs = [(HERE[0], b"1"), (None, b"x"), (b"", b"x"), (ELSEWHERE[0], b"x"), (HERE[0], None)]
    records = list(RecordFilter(Keyspace(PARTITIONS)).records_of_table(batch_of(pairs)))
    assert [(record.key, record.value) for record in records] == [(HERE[0], b"1"), (HERE[0], None)]


def test_a_topic_that_must_be_ones_own_refuses_a_strangers_record() -> None:
    mark = ("lastword-owner", b"app/table")
    record_filter = RecordFilter(Keyspace(1), None, mark)
    own = batch_of([(b"a", b"1")], headers=[(("x", b"y"), mark)])
    assert values_of(record_filter.filtered(own)) == {b"a": b"1"}
    with pytest.raises(TopicUnfitError, match="offset 5 was not written by this table"):
        record_filter.filtered(batch_of([(b"a", b"1")], first=5))


def test_an_evicting_table_sees_keys_in_the_order_of_their_last_records() -> None:
    mark = ("lastword-owner", b"app/table")
    batch = batch_of([(b"a", b"1"), (b"b", b"1"), (b"a", b"2")], first=0)
    batch.headers = [(mark,)] * 3
    filtered = RecordFilter(Keyspace(1), sole_writer=mark).filtered(batch)
    assert list(filtered.puts) == [b"b", b"a"]
