"""A restore whose reader is stuck reads again instead of going on without the end of the log.

The rule for logs whose last offsets are compacted away took "nothing came for three looks" for
such a gap. A reader that was merely stuck made a table ready after three seconds, with the value
before the last one.
"""

from __future__ import annotations

import threading

import pytest

from lastword.kafka.log.consumer_reader import ConsumerReader
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RAW, RealTopic
from tests.support.local_tables.tables import Tables


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """While it is set, readers hand nothing over; one that is assigned again gets going."""
    is_stuck = threading.Event()
    poll, assign = ConsumerReader.poll, ConsumerReader.assign

    def hand_nothing_over(reader: ConsumerReader, timeout_s: float) -> list[object]:
        news = poll(reader, timeout_s)
        return [] if is_stuck.is_set() else list(news)

    def get_going(reader: ConsumerReader, *place: int) -> None:
        is_stuck.clear()
        assign(reader, *place)

    monkeypatch.setattr(ConsumerReader, "poll", hand_nothing_over)
    monkeypatch.setattr(ConsumerReader, "assign", get_going)
    return is_stuck


def test_a_reader_that_is_stuck_is_assigned_again_and_the_table_is_complete(
    topic: RealTopic, tables: Tables, stuck: threading.Event
) -> None:
    topic.produce((b"a", b"before"))
    writer = topic.begin_transaction((b"a", b"after"), name=topic.name)
    table = tables.make(topic.name, **RAW)
    table.start()
    wait_until(lambda: table.progress()[0].blocked, "the restore waits for the transaction")
    stuck.set()
    writer.commit_transaction(60)
    table.wait_ready()
    assert table[b"a"] == b"after"


def test_a_live_table_whose_reader_is_stuck_reads_on(
    topic: RealTopic, tables: Tables, stuck: threading.Event
) -> None:
    """It waited until librdkafka looked at all topics again, which can take five minutes."""
    topic.produce((b"a", b"before"))
    table = tables.open(topic.name, **RAW)
    stuck.set()
    topic.produce((b"a", b"after"))
    wait_until(lambda: table[b"a"] == b"after", "the record that the reader did not hand over")
