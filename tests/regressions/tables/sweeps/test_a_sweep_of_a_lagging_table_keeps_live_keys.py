"""A sweep drops a row only if its key is still missing at an end captured after the pass.

A row whose record is gone from the log was considered deleted. But the record of a live key is gone
as well once the key was overwritten beyond the position of a table that lags: after a suspend
longer than the retention a sweep ran beside the catch-up, all live keys were absent for 19 s, and
watchers got deletes that never happened.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, TopicPartition

from lastword.kafka.log.client_reader import ClientReader
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.kafka.log.source import QUEUE_BYTES
from lastword.replicas.sweep.schedule import SweepSchedule
from lastword.table.table import Table
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import EAGER_COMPACTION, RAW, MakeTopic, RealTopic
from tests.support.local_tables.tables import Tables, wait_until_trusted
from tests.support.local_tables.watching import take
from tests.support.shifted_clock import ShiftedClock

KEYS = [b"key-%d" % n for n in range(20)]
SHORT = EAGER_COMPACTION | {"delete.retention.ms": "100"}


@pytest.fixture(autouse=True)
def client_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the consumer of the Kafka client can be paused."""

    def follow(source: KafkaLog, topic: str, *, queue_bytes: int = QUEUE_BYTES) -> ClientReader:
        return ClientReader(source.connection, topic, queue_bytes=queue_bytes)

    monkeypatch.setattr(KafkaLog, "follow", follow)


class Reading:
    """Delays the records that a live table reads, while everything else continues."""

    def __init__(self, table: Table) -> None:
        self._following = table._lifecycle.parts.replicas._following
        self._place = [TopicPartition(table.topic, 0)]

    def pause(self) -> None:
        self._call(lambda consumer: consumer.pause(self._place))

    def resume(self) -> None:
        self._call(lambda consumer: consumer.resume(self._place))

    def _call(self, do: Callable[[Consumer], None]) -> None:
        """On the tailing thread: the consumer is of no other."""
        done = threading.Event()

        def called() -> None:
            reader = self._following.reader
            assert isinstance(reader, ClientReader)
            do(reader._consumer)
            done.set()

        self._following.inbox.post(called)
        assert done.wait(180)


def overwrite_beyond(table: Table, topic: RealTopic) -> None:
    """Every key lives in the log with a new record; one was deleted, and its tombstone is gone."""
    topic.produce((b"deleted", None), *((key, b"new") for key in KEYS))
    topic.compact_until(
        lambda log: (
            {record.value for record in log if record.key in KEYS} == {b"new"}
            and all(record.key != b"deleted" for record in log)
        ),
        "the old records and the tombstone are cleaned away",
    )
    assert table.position().offsets[0] < topic.log()[0].offset


def test_keys_overwritten_beyond_the_position_are_never_reported_as_deleted(
    make_topic: MakeTopic, tables: Tables
) -> None:
    topic = make_topic(settings=SHORT)
    topic.produce(*((key, b"old") for key in KEYS), (b"deleted", b"1"))
    clock = ShiftedClock()
    table = tables.open(topic.name, clock=clock, **RAW)
    looks = table._lifecycle.parts.replicas
    with table.watch() as watch:
        reading = Reading(table)
        reading.pause()
        overwrite_beyond(table, topic)
        clock.shift_s = 61  # deletes may have been missed, and the last sweep is a minute ago
        behind_since = looks.topic_state.at_ms
        wait_until(lambda: looks.topic_state.at_ms > behind_since + 2_000, "two looks at the topic")
        assert table.query.count().stale
        assert set(KEYS) <= set(table)
        reading.resume()
        wait_until(lambda: b"deleted" not in table, "the sweep")
        assert {key: table[key] for key in KEYS} == dict.fromkeys(KEYS, b"new")
        wait_until_trusted(table)
        table.put(b"end", b"1")
        changes = take(watch, 1)
        while changes[-1].key != b"end":
            changes += take(watch, 1)
    assert {change.key for change in changes if change.deleted} == {b"deleted"}
    assert dict(table.items()) == topic.fold()


def test_a_pass_that_ran_while_the_table_fell_behind_drops_nothing_before_it_has_caught_up(
    make_topic: MakeTopic, tables: Tables
) -> None:
    topic = make_topic(settings=SHORT)
    topic.produce(*((key, b"old") for key in KEYS), (b"deleted", b"1"))
    clock = ShiftedClock()
    table = tables.open(topic.name, clock=clock, **RAW)
    replicas = table._lifecycle.parts.replicas
    reading, sweeps = Reading(table), replicas._following.sweeps
    reading.pause()
    overwrite_beyond(table, topic)
    follower = replicas.at(0).follower
    # As if the table had fallen behind just after the pass began.
    replicas._following.inbox.post(
        lambda: sweeps._begin(follower, 0, follower.position, expiry=False)
    )
    wait_until(lambda: waits_for_an_end(sweeps), "the pass is done and an end is captured")
    assert set(KEYS) <= set(table)
    reading.resume()
    wait_until(lambda: b"deleted" not in table, "what is dead is dropped")
    assert dict(table.items()) == topic.fold()


def waits_for_an_end(sweeps: SweepSchedule) -> bool:
    return any(sweep.to_reach is not None for sweep in list(sweeps._sweeps.values()))
