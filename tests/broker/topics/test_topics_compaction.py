"""Compaction on a real broker: what is counted, how far it came, and why it went no further.

A segment closes when a record's timestamp is segment.ms after that of the segment's first record,
so tests close segments by dating records, without waiting.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from confluent_kafka import Producer

from lastword.broker.embedded import EmbeddedBroker
from lastword.clock import SYSTEM_CLOCK
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.keyspace import Keyspace
from lastword.testing.waiting import wait_until
from lastword.topics.cleaner_gauges import cleaner_gauges
from lastword.topics.compaction import PartitionCompaction, compaction
from lastword.topics.creation import create_topic
from lastword.topics.diagnosis import Reason, diagnose_topic
from lastword.topics.survey import survey_topic

SEGMENT_MS = 1_000
EAGER = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "segment.ms": str(SEGMENT_MS),
}


@dataclass
class Topic:
    """A topic of one partition, and what the tests do with it."""

    admin: Admin
    broker: EmbeddedBroker
    name: str
    now_ms: int = field(default_factory=SYSTEM_CLOCK.now_ms)

    def write(self, *records: tuple[str, str | None], close: bool = False) -> None:
        """Append records; with ``close`` the active segment is closed before the first one."""
        if close:
            self.now_ms += 2 * SEGMENT_MS
        producer = Producer(self.admin.connection.librdkafka())
        for key, value in records:
            producer.produce(
                self.name, value and value.encode(), key.encode(), timestamp=self.now_ms
            )
        producer.flush()

    def state(self, *, local: bool = True) -> PartitionCompaction:
        nodes = [node.info for node in self.broker.nodes] if local else []
        survey = survey_topic(self.admin, KafkaLog(self.admin.connection), self.name)
        (found,) = compaction(self.admin, self.name, local_nodes=nodes, survey=survey)
        return found

    def why(self, *, local: bool = True) -> dict[str, Reason]:
        nodes = [node.info for node in self.broker.nodes] if local else []
        state = [self.state(local=local)]
        reasons = diagnose_topic(self.admin, self.name, state, local_nodes=nodes)
        assert reasons, "there is always a reason"
        return {reason.cause: reason for reason in reasons}

    def wait_until_cleaned(self, offset: int) -> None:
        node = self.broker.nodes[0].info
        wait_until(
            lambda: node.cleaner_checkpoint().get((self.name, 0), -1) >= offset,
            f"the cleaner has cleaned {self.name} up to {offset}",
        )


@pytest.fixture
def admin(broker: EmbeddedBroker) -> Iterator[Admin]:
    with Admin(Connection(bootstrap_servers=broker.bootstrap_servers)) as admin:
        yield admin


@pytest.fixture
def topic(admin: Admin, broker: EmbeddedBroker, topic_name: str) -> Topic:
    create_topic(admin, topic_name, partitions=1, settings=EAGER)
    return Topic(admin, broker, topic_name)


def test_before_compaction_every_record_is_there(topic: Topic) -> None:
    topic.write(("a", "1"), ("b", "1"), ("a", "2"), ("c", "1"), ("c", None))
    state = topic.state()
    assert (state.log_start, state.log_end, state.stable_end) == (0, 5, 5)
    assert state.contents is not None
    assert state.contents.records == 5
    assert state.contents.live_keys == 2
    assert state.contents.duplicates == 2
    assert state.contents.tombstones == 1
    assert state.cleaner is not None
    assert state.cleaner.files.cleaned_until is None
    assert state.cleaner.last_run is None
    assert state.cleaner.now.cleanable_bytes == 0
    assert state.size_bytes == state.cleaner.now.uncleanable_bytes > 0


def test_after_compaction_one_record_of_each_key_is_left(topic: Topic) -> None:
    topic.write(("a", "1"), ("b", "1"), ("a", "2"), ("a", "3"))
    before = topic.state()
    topic.write(("c", "1"), close=True)
    topic.wait_until_cleaned(4)
    state = topic.state()
    assert before.contents is not None
    assert state.contents is not None
    assert state.cleaner is not None
    assert (before.contents.duplicates, state.contents.duplicates) == (2, 0)
    assert (state.contents.records, state.contents.live_keys) == (3, 3)
    assert (state.log_start, state.log_end) == (0, 5)
    assert state.cleaner.files.cleaned_until == 4
    assert state.cleaner.now.first_dirty_offset == 4
    assert state.cleaner.now.dirty_ratio == 0.0
    assert state.cleaner.segments == 2


def test_the_last_run_of_the_cleaner_is_known_for_each_partition(topic: Topic) -> None:
    started_ms = SYSTEM_CLOCK.now_ms()
    topic.write(("a", "1"), ("b", "1"), ("a", "2"), ("a", "3"))
    topic.write(("c", "1"), close=True)

    def cleaned() -> PartitionCompaction | None:
        state = topic.state()  # the log line comes a moment after the checkpoint
        return state if state.cleaner is not None and state.cleaner.last_run else None

    state = wait_until(cleaned, "the broker has told of the run in its log")
    assert state.cleaner is not None
    run = state.cleaner.last_run
    assert run is not None
    assert (run.dirty_from, run.dirty_until) == (0, 4)
    assert (run.records_before, run.records_after) == (4, 2)
    assert 0 < run.recopy_percent < 100
    assert started_ms <= run.ended_ms <= SYSTEM_CLOCK.now_ms()


def test_the_health_of_the_cleaner_is_read_from_the_brokers_gauges(topic: Topic) -> None:
    topic.write(("a", "1"), ("a", "2"))
    topic.write(("b", "1"), close=True)
    topic.wait_until_cleaned(2)
    gauges = cleaner_gauges(topic.broker.nodes[0].info.metrics())
    assert gauges.dead_threads == 0
    assert gauges.uncleanable_partitions is not None
    assert gauges.recopy_percent is not None
    assert gauges.max_dirty_percent is not None
    assert gauges.since_last_run_ms is not None
    assert 0 <= gauges.since_last_run_ms < 60_000


def test_figures_that_a_remote_broker_does_not_report_are_unknown_and_not_zero(
    topic: Topic,
) -> None:
    topic.write(("a", "1"), ("a", "2"))
    state = topic.state(local=False)
    assert state.cleaner is None
    assert state.size_bytes is not None
    assert state.size_bytes > 0
    (found,) = compaction(topic.admin, topic.name)
    assert found.contents is None
    reason = topic.why(local=False)["unknown"]
    assert "files of broker 1 are out of reach" in reason.evidence


def test_the_active_segment_is_the_reason_when_duplicates_are_in_it(topic: Topic) -> None:
    topic.write(("a", "1"), ("a", "2"))
    reason = topic.why()["active segment"]
    assert "offsets 0 to 1" in reason.evidence
    assert f"more than {SEGMENT_MS} ms" in reason.remedy


def test_a_log_without_duplicates_has_nothing_to_clean(topic: Topic) -> None:
    topic.write(("a", "1"), ("b", "1"))
    assert list(topic.why()) == ["nothing to clean"]
    assert list(topic.why(local=False)) == ["nothing to clean"]


def test_the_policy_is_the_reason_when_the_topic_is_not_compacted(topic: Topic) -> None:
    topic.admin.alter(topic.name, {"cleanup.policy": "delete"})
    topic.write(("a", "1"), ("a", "2"))
    topic.write(("a", "3"), close=True)
    reasons = topic.why()
    assert list(reasons) == ["policy"]
    assert reasons["policy"].remedy == (
        f"lastword topic alter {topic.name} --config cleanup.policy=compact"
    )


def test_a_dirty_ratio_that_is_not_reached_is_the_reason_and_its_remedy_works(
    topic: Topic,
) -> None:
    topic.admin.alter(topic.name, {"min.cleanable.dirty.ratio": "1"})
    topic.write(("a", "1"), ("a", "2"), ("a", "3"))
    topic.write(("b", "1"), close=True)
    reason = topic.why()["dirty ratio"]
    assert "100.0% of the closed segments is new" in reason.evidence
    setting, value = reason.remedy.split()[-1].split("=")
    topic.admin.alter(topic.name, {setting: value})
    topic.wait_until_cleaned(3)
    assert list(topic.why()) == ["nothing to clean"]


def test_a_compaction_lag_is_the_reason_and_its_remedy_works(topic: Topic) -> None:
    topic.admin.alter(topic.name, {"min.compaction.lag.ms": "3600000"})
    topic.write(("a", "1"), ("a", "2"), ("a", "3"))
    topic.write(("b", "1"), close=True)
    reason = topic.why()["min.compaction.lag.ms"]
    assert "from offset 0 on are younger than 3600000 ms" in reason.evidence
    topic.admin.alter(topic.name, {"min.compaction.lag.ms": "0"})
    topic.wait_until_cleaned(3)


def test_an_open_transaction_is_the_reason_and_is_named(topic: Topic) -> None:
    settings = topic.admin.connection.librdkafka() | {"transactional.id": f"tx-{topic.name}"}
    writer = Producer(settings)
    writer.init_transactions()
    writer.begin_transaction()
    writer.produce(topic.name, b"1", b"t", timestamp=topic.now_ms)
    writer.flush()
    topic.write(("a", "1"), ("a", "2"))
    topic.write(("b", "1"), close=True)
    reason = topic.why()["open transaction"]
    assert f"transaction 'tx-{topic.name}'" in reason.evidence
    assert "offsets 0 to 3" in reason.evidence
    assert "60 s" in reason.remedy
    writer.abort_transaction()
    topic.write(("c", "1"), close=True)
    topic.wait_until_cleaned(3)
    assert "open transaction" not in topic.why()


def test_a_transaction_in_the_active_segment_is_not_the_reason(topic: Topic) -> None:
    topic.write(("a", "1"), ("a", "2"))
    settings = topic.admin.connection.librdkafka() | {"transactional.id": f"tx-{topic.name}"}
    writer = Producer(settings)
    writer.init_transactions()
    writer.begin_transaction()
    writer.produce(topic.name, b"1", b"t", timestamp=topic.now_ms)
    writer.flush()
    assert list(topic.why()) == ["active segment"]
    writer.abort_transaction()


def test_tombstones_that_were_cleaned_stay_for_a_while(topic: Topic) -> None:
    topic.write(("a", "1"), ("a", None))
    topic.write(("b", "1"), close=True)
    topic.wait_until_cleaned(2)
    reason = topic.why()["tombstones kept"]
    assert "1 tombstone(s) stay for delete.retention.ms=86400000" in reason.evidence


def test_a_partition_that_the_cleaner_gave_up_on_is_named(topic: Topic) -> None:
    topic.admin.alter(topic.name, {"min.cleanable.dirty.ratio": "1"})
    topic.write(("a", "1" * 100), ("a", "2" * 100))
    topic.write(("b", "1"), close=True)
    data_dir = topic.broker.nodes[0].info.data_dir
    segment = data_dir / f"{topic.name}-0" / f"{0:020d}.log"
    damaged = bytearray(segment.read_bytes())
    damaged[8:12] = bytes(4)  # the first batch says that it is 0 bytes long
    segment.write_bytes(damaged)
    topic.admin.alter(topic.name, {"min.cleanable.dirty.ratio": "0.01"})

    def given_up() -> Reason | None:
        nodes = [node.info for node in topic.broker.nodes]
        state = compaction(topic.admin, topic.name, local_nodes=nodes)
        reasons = diagnose_topic(topic.admin, topic.name, state, local_nodes=nodes)
        return next((reason for reason in reasons if reason.cause == "uncleanable"), None)

    reason = wait_until(given_up, "the cleaner has given up on the damaged partition")
    assert "marked it uncleanable" in reason.evidence
    topic.admin.delete(topic.name)


def test_a_key_in_two_partitions_is_found_by_reading_the_log(admin: Admin, topic_name: str) -> None:
    create_topic(admin, topic_name, partitions=3)
    producer = Producer(admin.connection.librdkafka() | {"partitioner": "murmur2_random"})
    for number in range(50):
        producer.produce(topic_name, b"v", f"key-{number}".encode())
    producer.flush()
    right = survey_topic(admin, KafkaLog(admin.connection), topic_name)
    assert (right.split, right.misplaced) == (0, 0)
    assert sum(contents.live_keys for contents in right.contents.values()) == 50
    home = next(p for p, contents in right.contents.items() if contents.live_keys)
    for partition in range(3):
        producer.produce(topic_name, b"v", b"key-7", partition=partition)
    producer.flush()
    wrong = survey_topic(admin, KafkaLog(admin.connection), topic_name)
    assert dict(wrong.split_keys) == {b"key-7": (0, 1, 2)}
    assert (wrong.split, wrong.misplaced) == (1, 1)
    assert home in wrong.contents


def test_keys_of_windows_belong_to_the_partition_of_their_inner_key(
    admin: Admin, topic_name: str
) -> None:
    create_topic(admin, topic_name, partitions=3)
    producer = Producer(admin.connection.librdkafka())
    for number in range(30):
        inner = f"key-{number % 3}".encode()
        producer.produce(
            topic_name,
            b"v",
            inner + (number * 60_000).to_bytes(8, "big"),
            partition=Keyspace(3).partition_of(inner),
        )
    producer.flush()
    assert (
        survey_topic(admin, KafkaLog(admin.connection), topic_name, key_suffix_bytes=8).misplaced
        == 0
    )
    assert survey_topic(admin, KafkaLog(admin.connection), topic_name).misplaced > 0
