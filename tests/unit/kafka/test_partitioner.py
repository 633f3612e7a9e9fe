from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.kafka.partitioner import misplaced, murmur2, partition_for, partitions_of

# From org.apache.kafka.common.utils.UtilsTest.testMurmur2.
JAVA = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}
KEYS = st.lists(st.binary(max_size=30) | st.binary(min_size=11, max_size=11), max_size=30)


@pytest.mark.parametrize(("key", "hashed"), JAVA.items())
def test_murmur2_gives_what_java_gives(key: bytes, hashed: int) -> None:
    assert murmur2(key) == hashed
    assert partition_for(key, 1_000_000) == (hashed & 0x7FFFFFFF) % 1_000_000


def test_the_batch_form_gives_what_java_gives() -> None:
    expected = [(hashed & 0x7FFFFFFF) % 1_000_000 for hashed in JAVA.values()]
    assert partitions_of(list(JAVA), 1_000_000).tolist() == expected


@given(KEYS, st.integers(1, 2**31 - 1), st.sampled_from([0, 8, 16]))
def test_a_batch_and_single_keys_agree(keys: list[bytes], partitions: int, suffix: int) -> None:
    decisive = [key[: len(key) - suffix] if len(key) >= suffix else key for key in keys]
    expected = [partition_for(key, partitions) for key in decisive]
    assert partitions_of(keys, partitions, suffix).tolist() == expected


def test_keys_of_any_length_agree_with_single_keys() -> None:
    keys = [bytes([n % 256]) * n for n in (0, 511, 512, 513, 3, 520, 5000, 11)]
    assert partitions_of(keys, 97).tolist() == [partition_for(key, 97) for key in keys]
    assert partitions_of(keys, 97, 8).tolist() == [
        partition_for(key[:-8] if len(key) >= 8 else key, 97) for key in keys
    ]


def test_an_empty_batch_has_no_partitions() -> None:
    assert partitions_of([], 3).tolist() == []
    assert misplaced([], 0, 3).tolist() == []


@given(KEYS, st.integers(1, 5))
def test_misplaced_are_the_keys_of_other_partitions_in_order(
    keys: list[bytes], partitions: int
) -> None:
    for partition in range(partitions):
        expected = [i for i, k in enumerate(keys) if partition_for(k, partitions) != partition]
        assert misplaced(keys, partition, partitions).tolist() == expected


def test_the_windows_of_a_key_are_where_the_key_is() -> None:
    keys = [b"user-1" + start.to_bytes(8, "big") for start in range(0, 100_000, 1000)]
    home = partition_for(b"user-1", 7)
    assert misplaced(keys, home, 7, suffix_bytes=8).tolist() == []
    assert len(misplaced(keys, home, 7)) > 0
