from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.records import Position
from lastword.replicas.sweep.soundness import Freshness
from lastword.table.scan import Scan

PARTITIONS = st.integers(1, 5).flatmap(
    lambda count: st.dictionaries(
        st.binary(min_size=1, max_size=3), st.integers(0, count - 1), max_size=40
    )
)
Shaped = tuple[int, bytes]


class ListScan:
    """Some rows of a store, and whether the scan over them was closed."""

    def __init__(self, rows: list[tuple[bytes, bytes]]) -> None:
        self._rows = iter(rows)
        self.closed = False

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        return self

    def __next__(self) -> tuple[bytes, bytes]:
        return next(self._rows)

    def close(self) -> None:
        self.closed = True


def merged(scans: dict[int, ListScan], *, reverse: bool = False) -> Scan[Shaped]:
    def shape(partition: int, key: bytes, row: bytes) -> Shaped | None:
        return None if row == b"bad" else (partition, key)

    return Scan(
        scans,
        shape,
        reverse=reverse,
        position=Position({0: 3}),
        freshness=Freshness(True, 7.0),
        now_ms=0,
    )


def scans_of(homes: dict[bytes, int], *, reverse: bool = False) -> dict[int, ListScan]:
    partitions: dict[int, list[tuple[bytes, bytes]]] = {0: []}
    for key in sorted(homes, reverse=reverse):
        partitions.setdefault(homes[key], []).append((key, b"row"))
    return {partition: ListScan(rows) for partition, rows in partitions.items()}


@given(PARTITIONS, st.booleans())
def test_rows_of_all_partitions_come_in_one_order(homes: dict[bytes, int], reverse: bool) -> None:
    scan = merged(scans_of(homes, reverse=reverse), reverse=reverse)
    assert list(scan) == [(homes[key], key) for key in sorted(homes, reverse=reverse)]


def test_a_row_without_a_shape_is_skipped() -> None:
    rows = [(b"a", b"row"), (b"b", b"bad"), (b"c", b"row")]
    assert list(merged({0: ListScan(rows)})) == [(0, b"a"), (0, b"c")]


def test_exhaustion_closes_every_partition() -> None:
    parts = scans_of({b"a": 0, b"b": 1})
    assert len(list(merged(parts))) == 2
    assert all(part.closed for part in parts.values())


def test_leaving_early_closes_every_partition_and_ends_the_scan() -> None:
    parts = scans_of({b"a": 0, b"b": 1, b"c": 0})
    with merged(parts) as scan:
        assert next(scan) == (0, b"a")
    assert all(part.closed for part in parts.values())
    with pytest.raises(StopIteration):
        next(scan)


def test_a_scan_says_what_it_sees() -> None:
    scan = merged(scans_of({}))
    assert (scan.position, scan.stale, scan.contact_age_s) == (Position({0: 3}), True, 7.0)
