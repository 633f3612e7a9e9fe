"""What every log source must do, as tests: subclass, say how to make one, and run pytest.

    class TestMyLog(LogSourceContract):
        def make_source(self, connection: Connection) -> LogSource:
            return MyLog(connection)

        def make_writer(self, connection: Connection) -> LogWriter:
            return MyWriter(connection)

The tests run against the broker of the ``broker`` fixture, each with topics of its own. The
ranges that a source reads have ``log_range_contract``. Needs pytest.
"""

# ruff: noqa: D102 - the names of the tests are sentences

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.clock import SYSTEM_CLOCK
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.log.source import EndOfLog, LogReader, LogSource, News, PositionLost
from lastword.records import REQUEST_HEADER, Batch, Record
from lastword.testing.log_writer import LogWriter, NewRecord
from lastword.testing.waiting import wait_until

WITHIN_S = 60.0
NOBODY = Connection(bootstrap_servers="127.0.0.1:1")
EAGER_COMPACTION = {"segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"}

MakeTopic = Callable[..., str]


@dataclass
class Reading:
    """A reader, and everything that it has handed over."""

    reader: LogReader
    news: list[News] = field(default_factory=list)

    def until(self, done: Callable[[News], bool], what: str) -> list[News]:
        """Poll until an item fits; returns the news of this call."""
        before, deadline = len(self.news), SYSTEM_CLOCK.monotonic() + WITHIN_S
        while not any(map(done, self.news[before:])):
            assert SYSTEM_CLOCK.monotonic() < deadline, f"no {what} after {self.news}"
            self.news += self.reader.poll(0.1)
        return self.news[before:]

    def until_end(self, offset: int, partition: int = 0) -> list[News]:
        return self.until(
            lambda item: (
                isinstance(item, EndOfLog) and (item.partition, item.offset) == (partition, offset)
            ),
            f"end of partition {partition} at {offset}",
        )

    def until_lost(self) -> PositionLost:
        *_, lost = self.until(lambda item: isinstance(item, PositionLost), "lost place")
        assert isinstance(lost, PositionLost)
        return lost

    @property
    def records(self) -> list[Record]:
        return [each for item in self.news if isinstance(item, Batch) for each in item.records()]

    @property
    def offsets(self) -> list[int]:
        return [record.offset for record in self.records]


class LogSourceFixtures:
    """How a source is made, and the topics that it reads."""

    def make_source(self, connection: Connection) -> LogSource:
        """A source of the cluster's logs."""
        raise NotImplementedError

    def make_writer(self, connection: Connection) -> LogWriter:
        """What writes the logs."""
        raise NotImplementedError

    @pytest.fixture
    def connection(self, broker: EmbeddedBroker) -> Connection:
        return Connection(bootstrap_servers=broker.bootstrap_servers)

    @pytest.fixture
    def admin(self, connection: Connection) -> Iterator[Admin]:
        with Admin(connection) as asking:
            yield asking

    @pytest.fixture
    def source(self, connection: Connection) -> LogSource:
        return self.make_source(connection)

    @pytest.fixture
    def writer(self, connection: Connection) -> LogWriter:
        return self.make_writer(connection)

    @pytest.fixture
    def make_topic(self, admin: Admin, topic_name: str) -> MakeTopic:
        def make(partitions: int = 1, settings: Mapping[str, str] | None = None) -> str:
            chosen = {"cleanup.policy": "compact"} | dict(settings or {})
            admin.create(topic_name, partitions=partitions, replication=1, settings=chosen)
            return topic_name

        return make

    @pytest.fixture
    def topic(self, make_topic: MakeTopic) -> str:
        return make_topic()

    @pytest.fixture
    def reading(self, source: LogSource, topic_name: str) -> Iterator[Reading]:
        reader = source.follow(topic_name)
        yield Reading(reader)
        reader.close()


class LogSourceContract(LogSourceFixtures):
    """Following a log through everything that can happen to it."""

    def test_it_implements_the_protocol(self) -> None:
        assert isinstance(self.make_source(NOBODY), LogSource)

    def test_a_record_arrives_with_all_it_has(
        self, writer: LogWriter, make_topic: MakeTopic, reading: Reading
    ) -> None:
        topic = make_topic(settings={"cleanup.policy": "delete"})
        headers = (("h", b"x"), ("n", None), ("h", b""))
        request = ((REQUEST_HEADER, bytes(16)),)
        records = [NewRecord(b"a", b"1"), NewRecord(b"b", None), NewRecord(b"c", b"", headers)]
        records += [NewRecord(None, b"keyless"), NewRecord(b"", b"empty key")]
        records += [NewRecord(b"d", b"4", request), NewRecord(b"e", None, request * 2)]
        writer.append(topic, records)
        reading.reader.assign(0, 0)
        reading.until_end(7)
        found = [NewRecord(each.key, each.value, each.headers) for each in reading.records]
        assert found == records
        assert all(each.timestamp_ms > 1_700_000_000_000 for each in reading.records)

    def test_batches_are_of_one_partition_each_and_in_order(
        self, writer: LogWriter, make_topic: MakeTopic, reading: Reading
    ) -> None:
        topic, many = make_topic(partitions=3), {0: 9_000, 1: 0, 2: 500}
        for partition, count in many.items():
            records = [NewRecord(b"%d" % n, b"x" * 20) for n in range(count)]
            writer.append(topic, records, partition=partition)
            reading.reader.assign(partition, 0)
        ends: dict[int, EndOfLog] = {}
        seen: dict[int, list[int]] = {partition: [] for partition in many}
        while len(ends) < len(many):
            for item in reading.until(lambda _: True, "news"):
                assert item.partition not in ends, "news of a partition after its end"
                if isinstance(item, Batch):
                    seen[item.partition] += item.offsets.tolist()
                    assert item.next_offset == item.offsets[-1] + 1
                    assert item.leader_epoch >= 0
                else:
                    assert isinstance(item, EndOfLog)
                    ends[item.partition] = item
        assert seen == {partition: list(range(count)) for partition, count in many.items()}
        assert {partition: end.offset for partition, end in ends.items()} == many
        assert ends[0].leader_epoch >= 0

    def test_reading_starts_where_it_is_told_to_and_stops_when_released(
        self, writer: LogWriter, topic: str, reading: Reading
    ) -> None:
        writer.append(topic, [NewRecord(b"%d" % n, b"x") for n in range(10)])
        reading.reader.assign(0, 7)
        reading.until_end(10)
        assert reading.offsets == [7, 8, 9]
        reading.reader.release(0)
        writer.append(topic, [NewRecord(b"later", b"x")])
        assert reading.reader.poll(0.3) == []
        reading.reader.assign(0, 10)
        reading.until_end(11)
        assert reading.offsets == [7, 8, 9, 10]

    def test_what_is_appended_later_follows_with_a_new_end(
        self, writer: LogWriter, topic: str, reading: Reading
    ) -> None:
        reading.reader.assign(0, 0)
        reading.until_end(0)
        writer.append(topic, [NewRecord(b"a", b"1")])
        reading.until_end(1)
        writer.append(topic, [NewRecord(b"a", b"2")])
        reading.until_end(2)
        assert [each.value for each in reading.records] == [b"1", b"2"]

    def test_offsets_that_compaction_removed_are_left_out(
        self, writer: LogWriter, make_topic: MakeTopic, source: LogSource, admin: Admin
    ) -> None:
        topic = make_topic(settings=EAGER_COMPACTION)
        writer.append(
            topic, [NewRecord(b"kept", b"1")] + [NewRecord(b"key", b"%d" % n) for n in range(9)]
        )

        def offsets() -> list[int]:
            writer.append(topic, [NewRecord(b"filler", b"x")])  # so that segments roll
            reading = Reading(source.follow(topic))
            reading.reader.assign(0, 0)
            reading.until_end(admin.end_offsets(topic, [0])[0])
            reading.reader.close()
            return reading.offsets

        wait_until(lambda: offsets()[:2] == [0, 9], "the cleaner has removed offsets 1 to 8")

    def test_only_committed_records_arrive_and_the_end_lies_behind_the_marker(
        self, writer: LogWriter, topic: str, reading: Reading
    ) -> None:
        writer.begin(topic, [NewRecord(b"a", b"committed")]).commit()
        writer.begin(topic, [NewRecord(b"a", b"aborted")]).abort()
        writer.append(topic, [NewRecord(b"a", b"plain")])
        reading.reader.assign(0, 0)
        reading.until_end(5)
        assert [each.value for each in reading.records] == [b"committed", b"plain"]

    def test_an_aborted_tail_is_read_to_its_end(
        self, writer: LogWriter, topic: str, reading: Reading
    ) -> None:
        writer.append(topic, [NewRecord(b"a", b"1")])
        writer.begin(topic, [NewRecord(b"a", b"2"), NewRecord(b"a", b"3")]).abort()
        reading.reader.assign(0, 0)
        reading.until_end(4)
        assert reading.offsets == [0]

    def test_an_open_transaction_hides_what_follows_until_it_ends(
        self, writer: LogWriter, topic: str, reading: Reading
    ) -> None:
        writer.append(topic, [NewRecord(b"a", b"before")])
        transaction = writer.begin(topic, [NewRecord(b"b", b"undecided")])
        writer.append(topic, [NewRecord(b"c", b"behind")])
        reading.reader.assign(0, 0)
        reading.until_end(1)
        assert reading.offsets == [0]
        transaction.commit()
        reading.until_end(4)
        assert reading.offsets == [0, 1, 2]

    def test_an_offset_beyond_the_end_is_lost_and_never_reset(
        self, writer: LogWriter, topic: str, reading: Reading
    ) -> None:
        writer.append(topic, [NewRecord(b"a", b"1")])
        reading.reader.assign(0, 5)
        lost = reading.until_lost()
        assert (lost.partition, bool(lost.reason)) == (0, True)
        assert reading.records == []
        reading.reader.assign(0, 0)  # it was released
        reading.until_end(1)
        assert reading.offsets == [0]

    def test_an_offset_before_the_start_is_lost_and_never_reset(
        self, writer: LogWriter, make_topic: MakeTopic, reading: Reading, admin: Admin
    ) -> None:
        topic = make_topic(settings={"cleanup.policy": "delete"})
        writer.append(topic, [NewRecord(b"a", b"%d" % n) for n in range(5)])
        admin.delete_before(topic, {0: 3})
        reading.reader.assign(0, 1)
        reading.until_lost()
        assert reading.records == []

    def test_a_topic_recreated_with_fewer_records_loses_the_place(
        self, writer: LogWriter, make_topic: MakeTopic, reading: Reading, admin: Admin
    ) -> None:
        topic = make_topic()
        writer.append(topic, [NewRecord(b"a", b"%d" % n) for n in range(10)])
        reading.reader.assign(0, 0)
        reading.until_end(10)
        admin.delete(topic)
        make_topic()
        writer.append(topic, [NewRecord(b"new", b"1")])
        reading.until_lost()
        assert b"new" not in {each.key for each in reading.records}

    @pytest.mark.parametrize("offset", [-1, -2, -1001])
    def test_a_negative_offset_is_refused(self, reading: Reading, offset: int) -> None:
        with pytest.raises(ValueError, match="is not an offset"):
            reading.reader.assign(0, offset)

    def test_a_leader_epoch_that_is_right_changes_nothing(
        self, writer: LogWriter, topic: str, reading: Reading
    ) -> None:
        writer.append(topic, [NewRecord(b"a", b"1"), NewRecord(b"a", b"2")])
        reading.reader.assign(0, 1, 0)
        reading.until_end(2)
        assert reading.offsets == [1]

    def test_headers_that_are_not_text_are_left_out_and_named(
        self, writer: LogWriter, topic: str, reading: Reading
    ) -> None:
        fine = (("trace", b"1"),)
        odd = (("trace", b"2"), (b"\xff\xfe", b"x"))
        writer.append(topic, [NewRecord(b"a", b"1", fine), NewRecord(b"b", b"2", odd)])
        writer.append(topic, [NewRecord(b"c", b"3", fine)])
        reading.reader.assign(0, 0)
        reading.until_end(3)
        assert [each.headers for each in reading.records] == [fine, (), fine]
        assert [each.value for each in reading.records] == [b"1", b"2", b"3"]
        batches = [item for item in reading.news if isinstance(item, Batch)]
        assert [offset for each in batches for offset in each.unreadable_headers] == [1]

    def test_a_record_larger_than_the_queue_arrives(
        self, writer: LogWriter, topic: str, source: LogSource
    ) -> None:
        writer.append(topic, [NewRecord(b"large", b"x" * 900_000), NewRecord(b"small", b"1")])
        reading = Reading(source.follow(topic, queue_bytes=1 << 10))
        reading.reader.assign(0, 0)
        reading.until_end(2)
        reading.reader.close()
        assert [len(each.value or b"") for each in reading.records] == [900_000, 1]

    def test_closing_waits_for_the_poll_of_another_thread(
        self, topic: str, reading: Reading
    ) -> None:
        reading.reader.assign(0, 0)
        reading.until_end(0)
        answers: list[list[News]] = []
        began = threading.Event()

        def poll() -> None:
            began.set()
            with suppress(RuntimeError):  # the reader was closed before the poll began
                answers.append(reading.reader.poll(1.0))

        polling = threading.Thread(target=poll)
        polling.start()
        assert began.wait(WITHIN_S)
        reading.reader.close()
        reading.reader.close()
        polling.join(WITHIN_S)
        assert answers in ([[]], [])

    def test_a_reader_of_a_cluster_that_does_not_answer_closes(self, topic_name: str) -> None:
        reader = self.make_source(NOBODY).follow(topic_name)
        reader.assign(0, 0)
        assert reader.poll(0.05) == []
        reader.close()
