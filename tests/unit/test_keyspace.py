from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.keyspace import Keyspace, murmur2

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
    assert Keyspace(1_000_000).partition_of(key) == (hashed & 0x7FFFFFFF) % 1_000_000


def test_the_batch_form_gives_what_java_gives() -> None:
    expected = [(hashed & 0x7FFFFFFF) % 1_000_000 for hashed in JAVA.values()]
    assert Keyspace(1_000_000).partitions_of(list(JAVA)).tolist() == expected


@given(KEYS, st.integers(1, 2**31 - 1), st.sampled_from([0, 8, 16]))
def test_a_batch_and_single_keys_agree(keys: list[bytes], partitions: int, suffix: int) -> None:
    keyspace, whole = Keyspace(partitions, suffix), Keyspace(partitions)
    decisive = [key[: len(key) - suffix] if len(key) >= suffix else key for key in keys]
    expected = [whole.partition_of(key) for key in decisive]
    assert [keyspace.partition_of(key) for key in keys] == expected
    assert keyspace.partitions_of(keys).tolist() == expected


@pytest.mark.parametrize("suffix", [0, 8])
def test_keys_of_any_length_agree_with_single_keys(suffix: int) -> None:
    keyspace = Keyspace(97, suffix)
    keys = [bytes([n % 256]) * n for n in (0, 511, 512, 513, 3, 520, 5000, 11)]
    assert keyspace.partitions_of(keys).tolist() == [keyspace.partition_of(key) for key in keys]


def test_an_empty_batch_has_no_partitions() -> None:
    assert Keyspace(3).partitions_of([]).tolist() == []
    assert Keyspace(3).misplaced([], 0).tolist() == []


@given(KEYS, st.integers(1, 5))
def test_misplaced_are_the_keys_of_other_partitions_in_order(
    keys: list[bytes], partitions: int
) -> None:
    keyspace = Keyspace(partitions)
    for partition in range(partitions):
        expected = [i for i, key in enumerate(keys) if keyspace.partition_of(key) != partition]
        assert keyspace.misplaced(keys, partition).tolist() == expected


def test_the_windows_of_a_key_are_where_the_key_is() -> None:
    keys = [b"user-1" + start.to_bytes(8, "big") for start in range(0, 100_000, 1000)]
    home = Keyspace(7).partition_of(b"user-1")
    assert Keyspace(7, 8).misplaced(keys, home).tolist() == []
    assert len(Keyspace(7).misplaced(keys, home)) > 0
