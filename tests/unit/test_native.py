"""The native module is what its absence is replaced by, only faster."""

from __future__ import annotations

import runpy
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword import keyspace
from lastword.keyspace import Keyspace
from lastword.many_rows import PythonRows
from lastword.native import NATIVE
from lastword.rows import PLAIN_ROW, PREFIX_BYTES, is_due
from lastword.stores import rocksdb_ingest

ROOT = Path(__file__).parent.parent.parent
KEYS = st.lists(st.binary(max_size=40), max_size=30)
PARTITIONS = st.integers(1, 2**31 - 1)
SUFFIXES = st.sampled_from([0, 1, 8, 16])
NATIVE_ONLY = [] if NATIVE is None else [NATIVE]
EVERYWHERE = [keyspace, *NATIVE_ONLY]


def test_it_is_in_use_wherever_it_can_be_built() -> None:
    why_not = runpy.run_path(str(ROOT / "hatch_build.py"))["why_not"]
    assert (NATIVE is None) == (why_not() is not None), "make setup builds it"
    assert hasattr(NATIVE, "Documents") == (NATIVE is not None), "make setup builds it"


def test_the_compiler_has_nothing_to_say(tmp_path: Path) -> None:
    """Later compilers take some of these warnings for errors."""
    build = runpy.run_path(str(ROOT / "hatch_build.py"))
    if build["why_not"]() is None:
        assert build["compile_module"](tmp_path / "module.so", "-Werror", "-O1") is None


@pytest.mark.parametrize("functions", EVERYWHERE)
@given(keys=KEYS, suffix=SUFFIXES, partitions=PARTITIONS)
def test_keys_are_where_java_puts_them(
    functions: ModuleType, keys: list[bytes], suffix: int, partitions: int
) -> None:
    homes = Keyspace(partitions, suffix).partitions_of(keys).tolist()
    assert [functions.partition_of(key, suffix, partitions) for key in keys] == homes
    groups: dict[int, list[bytes]] = {}
    for key, home in zip(keys, homes, strict=True):
        groups.setdefault(home, []).append(key)
    assert functions.by_partition(keys, suffix, partitions) == groups


class WrittenFile:
    """Records what is written to it, and clears what it was given while that is being written."""

    def __init__(self, layers: list[dict[bytes, Any]] | None = None) -> None:
        self.written: list[tuple[bytes, Any]] = []
        self._layers = layers or []

    def __setitem__(self, key: bytes, value: object) -> None:
        self.written.append((bytes(bytearray(key)), value))
        for layer in self._layers:
            layer.clear()
        self._layers.clear()

    def __delitem__(self, key: bytes) -> None:
        self.written.append((key, None))


SORTING = [rocksdb_ingest, *NATIVE_ONLY]


@pytest.mark.parametrize("functions", SORTING)
@given(
    prefix=st.binary(max_size=9),
    layers=st.lists(st.lists(st.binary(max_size=12) | st.binary(max_size=2)), max_size=4),
)
def test_items_are_sorted_by_the_bytes_of_their_keys_and_the_last_of_a_key_counts(
    functions: ModuleType, prefix: bytes, layers: list[list[bytes]]
) -> None:
    dicts = [
        {prefix + end: None if (n + len(end)) % 3 == 0 else (n, end) for end in ends}
        for n, ends in enumerate(layers)
    ]
    merged = {key: value for each in dicts for key, value in each.items()}
    file = WrittenFile()
    functions.write_sorted(dicts, file)
    assert file.written == sorted(merged.items())


ODD_LAYERS: list[Any] = [
    [{"text": 1}],
    [{b"a": 1, None: 2}],
    [b"a"],
    [{}, None],
    {b"a": 1},
    None,
]


def test_items_that_are_dropped_while_they_are_written_are_written_all_the_same() -> None:
    for functions in NATIVE_ONLY:
        layers = [{b"%d-%d" % (layer, n): object() for n in range(50)} for layer in range(3)]
        expected = sorted((key, value) for each in layers for key, value in each.items())
        file = WrittenFile(layers)
        functions.write_sorted(layers, file)
        assert file.written == expected
        assert layers == []
    assert len(NATIVE_ONLY) == (NATIVE is not None)


def test_other_threads_run_while_items_are_written() -> None:
    items: dict[bytes, int] = {b"%d" % n: n for n in range(100_000)}
    for functions in NATIVE_ONLY:
        file: dict[bytes, int] = {}
        seen: set[int] = set()
        ended = threading.Event()

        def look(file: Any = file, seen: Any = seen, ended: Any = ended) -> None:
            while not ended.is_set():
                seen.add(len(file))

        other = threading.Thread(target=look)
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            other.start()
            functions.write_sorted([items], file)
        finally:
            ended.set()
            sys.setswitchinterval(interval)
            other.join()
        assert seen - {0, len(items)}, "it saw the file half written"
    assert len(NATIVE_ONLY) == (NATIVE is not None)


def test_items_with_keys_that_are_not_bytes_are_refused() -> None:
    for functions in NATIVE_ONLY:
        for nonsense in ODD_LAYERS:
            with pytest.raises(TypeError):
                functions.write_sorted(nonsense, {})
        with pytest.raises(TypeError):
            functions.write_sorted([])
        with pytest.raises(TypeError):
            functions.write_sorted([{b"a": 1}], None)
    assert len(NATIVE_ONLY) == (NATIVE is not None)


LIVE_AT = st.integers(-1, 2**40)
ROWS = st.builds(
    lambda flags, prefix, rest: bytes([0x10 | flags]) + prefix + rest,
    st.sampled_from([0, 0, 0, 1, 2, 3]),
    st.binary(min_size=16, max_size=16),
    st.binary(max_size=40) | st.integers(0, 2**41).map(lambda at: at.to_bytes(8, "big")),
)


@pytest.mark.parametrize("functions", [PythonRows, *NATIVE_ONLY])
@given(rows=st.lists(ROWS | st.none() | st.binary(min_size=1, max_size=20)), now_ms=LIVE_AT)
def test_rows_that_are_absent_or_expired_are_left_out(
    functions: Any, rows: list[bytes | None], now_ms: int
) -> None:
    keys = [b"%d" % n for n in range(len(rows))]
    live = [
        (key, row)
        for key, row in zip(keys, rows, strict=True)
        if row is not None and not is_due(row, now_ms)
    ]
    found_keys, found_rows = functions.live_rows(keys, rows, now_ms)
    assert list(zip(found_keys, found_rows, strict=True)) == live


@pytest.mark.parametrize("functions", [PythonRows, *NATIVE_ONLY])
@given(rows=st.lists(ROWS | st.binary(min_size=1, max_size=20)))
def test_the_values_of_plain_rows_are_what_follows_their_prefix(
    functions: Any, rows: list[bytes]
) -> None:
    plain = [row for row in rows if row[0] == PLAIN_ROW]
    assert functions.plain_values(plain, PLAIN_ROW) == [row[PREFIX_BYTES:] for row in plain]
    if len(plain) < len(rows):
        assert functions.plain_values(rows, PLAIN_ROW) is None


@pytest.mark.parametrize("functions", [PythonRows, *NATIVE_ONLY])
@given(rows=st.dictionaries(st.binary(), st.binary()))
def test_the_size_of_rows_is_that_of_keys_and_values(
    functions: Any, rows: dict[bytes, bytes]
) -> None:
    assert functions.size_of(rows) == sum(len(key) + len(row) for key, row in rows.items())


def test_rows_that_are_not_rows_are_refused() -> None:
    for functions in NATIVE_ONLY:
        calls: list[Callable[[Any], object]] = [
            lambda each: each.live_rows([b"a"], ["text"], 0),
            lambda each: each.live_rows([b"a"], [b""], 0),
            lambda each: each.live_rows([b"a"], [], 0),
            lambda each: each.live_rows((), (), 0),
            lambda each: each.live_rows([], [], "now"),
            lambda each: each.live_rows([], [], 2**70),
            lambda each: each.plain_values([None], 16),
            lambda each: each.plain_values([b""], 16),
            lambda each: each.plain_values([b"a"]),
            lambda each: each.plain_values([b"a"], "16"),
            lambda each: each.size_of({b"a": None}),
            lambda each: each.size_of({"a": b"a"}),
            lambda each: each.size_of([b"a"]),
        ]
        for call in calls:
            with pytest.raises((TypeError, ValueError, IndexError, OverflowError)):
                call(functions)
    assert len(NATIVE_ONLY) == (NATIVE is not None)


@pytest.mark.parametrize("arguments", [("text", 0, 3), (b"key", -1, 3), (b"key", 0, 0), (b"key",)])
def test_invalid_arguments_are_refused(arguments: tuple[object, ...]) -> None:
    for functions in NATIVE_ONLY:
        with pytest.raises((TypeError, ValueError)):
            functions.partition_of(*arguments)
        with pytest.raises((TypeError, ValueError)):
            functions.by_partition([arguments[0]], *arguments[1:])
    assert len(NATIVE_ONLY) == (NATIVE is not None)
