"""Rows of a history: each record as it is, with its day, and readable where it can be."""

from __future__ import annotations

from datetime import date

import pyarrow as pa

from lastword.codecs.resolve import codec
from lastword.snapshots.catalog.decoded_columns import decoded_columns
from lastword.snapshots.catalog.merge import CHANGES
from lastword.snapshots.jobs.history_task import HistoryTask

NOON_US = 1_767_268_800_000_000  # 2026-01-01T12:00:00Z


def test_every_record_is_kept_with_its_day() -> None:
    """A put, a delete, one without a key, and one whose writer took the wrong unit."""
    rows = [
        (b"a", b"1", None, 3, NOON_US),
        (b"a", None, None, 4, NOON_US + 12 * 3_600_000_000),
        (None, b"\xff", [{"key": "h", "value": b"1"}], 5, -1000),
        (b"b", b"2", None, 9, NOON_US * 1000),
    ]
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, f.type) for column, f in zip(columns, CHANGES, strict=True)]
    counted: list[tuple[int, int]] = []
    decoded = decoded_columns(codec("string"), codec("json"))
    task = HistoryTask(2, decoded, lambda *counts: counted.append(counts))
    (found,) = task(iter([pa.RecordBatch.from_arrays(arrays, schema=CHANGES)]))
    assert found.column("offset").to_pylist() == [3, 4, 5, 9]
    assert found.column("value").to_pylist() == [b"1", None, b"\xff", b"2"]
    assert found.column("decoded_value").to_pylist() == ["1", None, None, "2"]
    assert found.column("date").to_pylist() == [
        date(2026, 1, 1),
        date(2026, 1, 2),
        date(1969, 12, 31),
        date(9999, 12, 31),
    ]
    assert (found.column("partition").to_pylist(), counted) == ([2] * 4, [(4, 1)])
