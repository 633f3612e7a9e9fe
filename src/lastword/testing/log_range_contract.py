"""What every log source must do when it reads ranges, as tests; see ``log_source_contract``."""

# ruff: noqa: D102 - the names of the tests are sentences

from __future__ import annotations

import pytest

from lastword.errors import ConnectionFailedError, TopicNotFoundError
from lastword.kafka.log.source import LogSource
from lastword.testing.log_source_contract import NOBODY, LogSourceFixtures, MakeTopic
from lastword.testing.log_writer import LogWriter, NewRecord


class LogRangeContract(LogSourceFixtures):
    """Reading ranges of a log to their ends."""

    def test_a_range_holds_exactly_what_lies_between_its_ends(
        self, writer: LogWriter, make_topic: MakeTopic, source: LogSource
    ) -> None:
        topic = make_topic(partitions=3)
        for partition in range(3):
            records = [NewRecord(b"%d" % n, b"x") for n in range(200)]
            writer.append(topic, records, partition=partition)
        found: dict[int, list[int]] = {}
        for batch in source.read(topic, {0: (10, 20), 1: (0, 1), 2: (50, 50)}):
            found.setdefault(batch.partition, []).extend(batch.offsets.tolist())
            assert batch.next_offset <= {0: 20, 1: 1}[batch.partition]
        assert found == {0: list(range(10, 20)), 1: [0]}

    def test_a_range_may_end_at_a_marker_or_behind_it(
        self, writer: LogWriter, topic: str, source: LogSource
    ) -> None:
        writer.begin(topic, [NewRecord(b"a", b"1"), NewRecord(b"b", b"2")]).commit()
        writer.append(topic, [NewRecord(b"c", b"3")])
        writer.begin(topic, [NewRecord(b"d", b"4")]).abort()  # offsets 4 and 5
        for end, expected in ((2, [0, 1]), (3, [0, 1]), (4, [0, 1, 3]), (5, [0, 1, 3])):
            assert _offsets(source, topic, 0, end) == expected, f"up to {end}"
        assert _offsets(source, topic, 4, 6) == []

    def test_ranges_of_nothing_ask_nobody(self) -> None:
        nobody = self.make_source(NOBODY)
        assert list(nobody.read("no-topic", {0: (5, 5), 1: (7, 3)})) == []

    def test_a_range_beyond_the_log_says_that_the_place_is_gone(
        self, topic: str, source: LogSource
    ) -> None:
        with pytest.raises(TopicNotFoundError, match="partition 0: the offset is gone") as lost:
            list(source.read(topic, {0: (10, 20)}))
        assert lost.value.hint

    def test_a_range_that_never_ends_is_given_up(
        self, writer: LogWriter, topic: str, source: LogSource
    ) -> None:
        writer.append(topic, [NewRecord(b"a", b"1")])
        with pytest.raises(ConnectionFailedError, match="nothing arrived for 1 s"):
            list(source.read(topic, {0: (0, 5)}, stall_timeout_s=1.0))

    def test_a_range_ends_early_when_told_to(
        self, writer: LogWriter, topic: str, source: LogSource
    ) -> None:
        writer.append(topic, [NewRecord(b"a", b"1")])
        stopped: list[bool] = []
        reading = source.read(topic, {0: (0, 5)}, stopping=lambda: bool(stopped))
        assert list(next(reading).keys) == [b"a"]
        stopped.append(True)
        assert list(reading) == []

    def test_a_range_that_is_closed_ends(
        self, writer: LogWriter, topic: str, source: LogSource
    ) -> None:
        writer.append(topic, [NewRecord(b"a", b"1")])
        reading = source.read(topic, {0: (0, 5)})
        next(reading)
        reading.close()
        assert list(reading) == []


def _offsets(source: LogSource, topic: str, start: int, end: int) -> list[int]:
    batches = source.read(topic, {0: (start, end)})
    return [offset for batch in batches for offset in batch.offsets.tolist()]
