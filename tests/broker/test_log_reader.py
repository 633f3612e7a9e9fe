"""Reading a log: whole batches, in order, with the events that a follower needs."""

from __future__ import annotations

import gc
import socket
import threading
from collections.abc import Iterator
from itertools import groupby

import pytest

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import ConnectionFailedError, TopicNotFoundError
from lastword.kafka.connection import Connection
from lastword.kafka.log.reader import EndOfLog, LogReader, PlaceLost, read_range
from lastword.records import Batch
from tests.support.tables import read_raw, write_raw

BETWEEN_LOOKS_S = 0.01

News = Batch | EndOfLog | PlaceLost


@pytest.fixture
def reader(connection: Connection, one_partition: str) -> Iterator[LogReader]:
    reading = LogReader(connection, one_partition)
    yield reading
    reading.close()


def news_until(reader: LogReader, kind: type[News], *, within_s: float = 60.0) -> list[News]:
    """Everything up to the first item of that kind."""
    deadline = SYSTEM_CLOCK.monotonic() + within_s
    found: list[News] = []
    while not any(isinstance(item, kind) for item in found):
        assert SYSTEM_CLOCK.monotonic() < deadline, f"no {kind.__name__} among {found}"
        found += reader.poll(0.1)
    return found


def test_a_batch_has_every_column_of_its_records(
    connection: Connection, one_partition: str, reader: LogReader
) -> None:
    write_raw(connection, one_partition, [(b"a", b"1"), (b"b", None)])
    write_raw(connection, one_partition, [(b"c", b"")], headers=(("h", b"x"), ("n", None)))
    reader.assign(0, 0)
    batches = [item for item in news_until(reader, EndOfLog) if isinstance(item, Batch)]
    records = [record for batch in batches for record in batch.records()]
    assert [(r.key, r.value, r.offset) for r in records] == [
        (b"a", b"1", 0),
        (b"b", None, 1),
        (b"c", b"", 2),
    ]
    assert [r.headers for r in records] == [(), (), (("h", b"x"), ("n", None))]
    assert all(r.timestamp_ms > 1_700_000_000_000 for r in records)
    assert batches[-1].next_offset == 3
    assert batches[-1].leader_epoch >= 0


def test_the_end_of_an_empty_partition_is_its_start(reader: LogReader) -> None:
    reader.assign(0, 0)
    assert news_until(reader, EndOfLog) == [EndOfLog(0, 0)]


def test_the_end_comes_after_what_lies_before_it(
    connection: Connection, one_partition: str, reader: LogReader
) -> None:
    write_raw(connection, one_partition, [(b"%d" % n, b"x") for n in range(10_000)])
    reader.assign(0, 0)
    *batches, end = news_until(reader, EndOfLog)
    assert end == EndOfLog(0, 10_000, leader_epoch=0)
    offsets = [o for batch in batches if isinstance(batch, Batch) for o in batch.offsets]
    assert offsets == list(range(10_000))


def test_a_batch_is_of_one_partition(connection: Connection, topic: str) -> None:
    write_raw(connection, topic, [(b"%d" % n, b"x") for n in range(3_000)])
    reader = LogReader(connection, topic)
    for partition in range(3):
        reader.assign(partition, 0)
    ends: dict[int, int] = {}
    seen: dict[int, list[int]] = {0: [], 1: [], 2: []}
    while len(ends) < 3:
        for item in reader.poll(0.1):
            if isinstance(item, Batch):
                assert item.partition not in ends
                seen[item.partition] += item.offsets
            elif isinstance(item, EndOfLog):
                ends[item.partition] = item.offset
    reader.close()
    assert {p: list(range(end)) for p, end in ends.items()} == seen
    assert sum(ends.values()) == 3_000


def test_reading_starts_where_it_is_told_to_and_stops_when_released(
    connection: Connection, one_partition: str, reader: LogReader
) -> None:
    write_raw(connection, one_partition, [(b"%d" % n, b"x") for n in range(10)])
    reader.assign(0, 7)
    first, *_ = news_until(reader, EndOfLog)
    assert isinstance(first, Batch)
    assert first.offsets == [7, 8, 9]
    reader.release(0)
    write_raw(connection, one_partition, [(b"later", b"x")])
    assert reader.poll(0.3) == []
    reader.assign(0, 10)
    again, *_ = news_until(reader, EndOfLog)
    assert isinstance(again, Batch)
    assert again.keys == [b"later"]


@pytest.mark.parametrize("offset", [5, 1_000])
def test_an_offset_beyond_the_end_is_reported_and_never_reset(
    connection: Connection, one_partition: str, reader: LogReader, offset: int
) -> None:
    write_raw(connection, one_partition, [(b"a", b"1")])
    reader.assign(0, offset)
    (lost,) = news_until(reader, PlaceLost)
    assert isinstance(lost, PlaceLost)
    assert lost.partition == 0
    assert lost.reason
    reader.assign(0, 0)
    first, *_ = news_until(reader, EndOfLog)
    assert isinstance(first, Batch)
    assert first.keys == [b"a"]


def test_a_second_close_does_nothing(reader: LogReader) -> None:
    reader.close()
    reader.close()
    assert gc.isenabled()


def test_a_reader_of_a_cluster_that_is_gone_closes(one_partition: str) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        nobody = Connection(bootstrap_servers=f"127.0.0.1:{probe.getsockname()[1]}")
    reader = LogReader(nobody, one_partition)
    reader.assign(0, 0)
    assert reader.poll(0.05) == []
    reader.close()
    assert gc.isenabled()


def test_the_collector_is_back_after_a_poll(
    connection: Connection, one_partition: str, reader: LogReader
) -> None:
    write_raw(connection, one_partition, [(b"a", b"1")])
    reader.assign(0, 0)
    assert news_until(reader, Batch)
    assert gc.isenabled()


def test_the_collector_works_while_a_reader_waits(one_partition: str, reader: LogReader) -> None:
    reader.assign(0, 0)
    assert news_until(reader, EndOfLog)
    waiting = threading.Thread(target=reader.poll, args=(0.3,))
    waiting.start()
    seen = set()
    while waiting.is_alive():
        seen.add(gc.isenabled())
        waiting.join(BETWEEN_LOOKS_S)
    assert seen == {True}


def test_a_range_holds_exactly_what_lies_between_its_ends(
    connection: Connection, topic: str
) -> None:
    write_raw(connection, topic, [(b"%d" % n, b"x") for n in range(600)])
    everything = read_raw(connection, topic)
    ranges = {0: (10, 20), 1: (0, 1), 2: (50, 50)}
    found = [r for batch in read_range(connection, topic, ranges) for r in batch.records()]
    by_partition = {p: [r.offset for r in rs] for p, rs in groupby(found, lambda r: r.partition)}
    assert by_partition == {0: list(range(10, 20)), 1: [0]}
    assert set(found) <= set(everything)


def test_a_range_of_nothing_asks_nobody() -> None:
    nobody = Connection(bootstrap_servers="127.0.0.1:1")
    assert list(read_range(nobody, "no-topic", {0: (5, 5), 1: (7, 3)})) == []


def test_a_range_beyond_the_log_says_that_the_place_is_gone(
    connection: Connection, one_partition: str
) -> None:
    with pytest.raises(TopicNotFoundError, match="partition 0: the place is gone") as lost:
        list(read_range(connection, one_partition, {0: (10, 20)}))
    assert lost.value.hint


def test_a_range_that_never_ends_is_given_up(connection: Connection, one_partition: str) -> None:
    write_raw(connection, one_partition, [(b"a", b"1")])
    with pytest.raises(ConnectionFailedError, match="nothing arrived for 1 s"):
        list(read_range(connection, one_partition, {0: (0, 5)}, stall_timeout_s=1.0))


def test_a_range_ends_early_when_told_to(connection: Connection, one_partition: str) -> None:
    write_raw(connection, one_partition, [(b"a", b"1")])
    stopped: list[bool] = []
    reading = read_range(connection, one_partition, {0: (0, 5)}, stopping=lambda: bool(stopped))
    first = next(reading)
    stopped.append(True)
    assert first.keys == [b"a"]
    assert list(reading) == []
