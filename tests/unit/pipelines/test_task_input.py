from __future__ import annotations

import pyarrow as pa
import pytest

from lastword.pipelines.graph.node import SourcePlan
from lastword.pipelines.operators.operator import BatchContext
from lastword.pipelines.task.task_input import COLUMNS, LAST_MS, RawRecords, decode, read_inputs
from lastword.records import FENCE_KEY

Row = tuple[bytes | None, bytes | None, str, int, int, int]


def batch(*rows: Row) -> pa.RecordBatch:
    types = [pa.binary(), pa.binary(), pa.string(), pa.int32(), pa.int64(), pa.int64()]
    columns = list(zip(*rows, strict=True)) or [()] * len(types)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=list(COLUMNS))


def records(*values: bytes | None) -> RawRecords:
    count = len(values)
    return RawRecords([b"k"] * count, list(values), list(range(count)), [100] * count)


def test_batches_are_gathered_by_topic() -> None:
    rows = [batch((b"k", b"1", "a", 2, 7, 70), (None, None, "b", 2, 3, 30)), batch()]
    (given,) = read_inputs(rows, piece_bytes=1)
    assert given.partition == 2
    assert given.topics["a"] == RawRecords([b"k"], [b"1"], [7], [70])
    assert given.topics["b"] == RawRecords([None], [None], [3], [30])


def test_a_task_without_records_has_no_input() -> None:
    assert list(read_inputs([batch()])) == []


def test_records_of_one_source_come_in_pieces_that_fit_into_memory() -> None:
    rows = [
        batch((b"k", b"v" * 1000, "a", 2, offset, 70)).drop_columns("topic") for offset in range(5)
    ]
    pieces = list(read_inputs(rows, "a", piece_bytes=2000))
    assert [piece.topics["a"].offsets for piece in pieces] == [[0, 1], [2, 3], [4]]


def test_a_task_that_was_given_two_partitions_stops() -> None:
    with pytest.raises(RuntimeError, match=r"\[0, 1\]"):
        list(read_inputs([batch((b"k", b"1", "a", 0, 1, 1), (b"k", b"1", "a", 1, 1, 1))]))


def test_committed_records_are_skipped() -> None:
    given = records(b"1", b"2", b"3")
    events = decode(SourcePlan("t", "json"), given, 2, BatchContext())
    assert (events.values, list(events.offsets)) == ([3], [2])
    assert given.count_below(2) == 2


def test_a_fence_record_is_not_an_event() -> None:
    headers: list[dict[str, bytes | None]] = [{"n": b"1"}, {}, {"n": b"3"}]
    values: list[bytes | None] = [b"1", b"not a number", b"3"]
    given = RawRecords([b"a", FENCE_KEY, b"b"], values, [7, 8, 9], [70, 80, 90], headers)
    context = BatchContext()
    events = decode(SourcePlan("t", "json"), given, 0, context)
    assert (events.keys, events.values, list(events.offsets)) == ([b"a", b"b"], [1, 3], [7, 9])
    assert (events.timestamps, list(events.headers)) == ([70, 90], [headers[0], headers[2]])
    assert not context.bad


def test_headers_come_with_their_records() -> None:
    rows = batch((b"k", b"1", "a", 0, 7, 70), (b"k", b"{", "a", 0, 8, 80))
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    headers = pa.array([[{"key": "trace", "value": b"x"}], None], kind)
    (given,) = read_inputs([rows.append_column("headers", headers)])
    events = decode(SourcePlan("a", "json"), given.topics["a"], 0, BatchContext())
    assert events.headers == [{"trace": b"x"}]
    assert events.take([0]).headers == [{"trace": b"x"}]


def test_a_value_that_cannot_be_read_is_quarantined() -> None:
    context = BatchContext()
    events = decode(SourcePlan("t", "json"), records(b"1", b"{", None), 0, context)
    assert events.values == [1, None]
    assert [bad.offset for bad in context.bad] == [1]
    assert context.tally.quarantined == 1


@pytest.mark.parametrize(
    "value",
    [b'{"at":"noon"}', b"{}", b'{"at":-1}', b'{"at":1.5}', b"3", b'{"at":%d}' % (LAST_MS + 1)],
)
def test_a_value_without_an_event_time_is_quarantined(value: bytes) -> None:
    context = BatchContext()
    decode(SourcePlan("t", "json", "at"), records(value), 0, context)
    assert "not an event time" in context.bad[0].reason


def test_event_time_comes_from_where_the_source_says() -> None:
    by_name = SourcePlan("t", "json", "at")
    by_function = SourcePlan("t", "json", lambda value: value["at"] * 1000)
    value = b'{"at":5}'
    assert decode(by_name, records(value, None), 0, BatchContext()).timestamps == [5, 100]
    assert decode(by_function, records(value), 0, BatchContext()).timestamps == [5000]
    assert decode(SourcePlan("t", "json"), records(value), 0, BatchContext()).timestamps == [100]
