"""A cluster that forgets producer ids and transactional ids quickly lets no zombie in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
)

from lastword.broker.embedded import EmbeddedBroker
from lastword.broker.runtime import KafkaRuntime
from lastword.errors import FencedError, LastwordError
from lastword.kafka.admin import Admin
from lastword.kafka.admin.transactions import holder_of
from lastword.kafka.admin.wire import wire_admin
from lastword.kafka.connection import Connection
from lastword.kafka.write.fenced import FenceNote
from lastword.kafka.write.fenced.idempotent_log import IdempotentLog
from lastword.records import FENCE_KEY, TopicPartition, Write
from lastword.testing import wait_until
from lastword.testing.plugin import EAGER
from lastword.testing.read_log import read_log
from lastword.topics.creation import create_topic
from tests.support.local_tables.real_topic import RealTopic
from tests.support.shifted_clock import ShiftedClock

pytestmark = pytest.mark.broker

HOURS_S = 3600.0
FORGETFUL = {
    "producer.id.expiration.check.interval.ms": "100",
    "transactional.id.expiration.ms": "2000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "100",
}

ANY_TIME = {"message.timestamp.after.max.ms": str(24 * 3600 * 1000)}
"""The clock of the test is hours ahead of the broker's."""


@pytest.fixture(scope="module")
def connection(
    kafka_runtime: KafkaRuntime, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Connection]:
    directory = tmp_path_factory.mktemp("forgetful")
    broker = EmbeddedBroker(directory, kafka_runtime, settings=EAGER | FORGETFUL)
    broker.start()
    yield Connection(bootstrap_servers=broker.bootstrap_servers)
    broker.kill()


class Lab(ExitStack):
    """Holders of one partition on a clock that the test moves; closed at its end."""

    def __init__(self, connection: Connection, topic: str) -> None:
        super().__init__()
        self.connection, self.topic, self.clock = connection, topic, ShiftedClock()
        self.transactional_id = f"tests:owner:{topic}:0"
        with Admin(connection) as admin:
            create_topic(admin, topic, partitions=1, settings=ANY_TIME)

    def log(self) -> IdempotentLog:
        place = self.topic, 0, self.transactional_id
        log = IdempotentLog(self.connection, *place, clock=self.clock)
        self.callback(log.close)
        return log

    def wait_until_forgotten(self) -> None:
        """Until neither the coordinator nor the leader of the partition knows a holder.

        Leaders forget producers quickly only while this waits: a holder that is slow to take over
        needs its own to be known.
        """

        def known() -> bool:
            try:
                holder_of(self.connection, self.transactional_id, self.topic, 0)
            except LastwordError:
                return False
            return True

        wait_until(lambda: not known(), "the coordinator has forgotten the transactional id")
        with wire_admin(self.connection, doing="asking for producers") as admin:

            def producers() -> int:
                states = admin.describe_producers([TopicPartition(self.topic, 0)]).values()
                return sum(len(state.active_producers) for state in states)

            self._expire_producers_after("100")
            try:
                wait_until(lambda: not producers(), "the leader has forgotten the producers")
            finally:
                self._expire_producers_after(None)

    def _expire_producers_after(self, ms: str | None) -> None:
        operation = AlterConfigOpType.DELETE if ms is None else AlterConfigOpType.SET
        entry = ConfigEntry("producer.id.expiration.ms", ms, incremental_operation=operation)
        brokers = ConfigResource(ConfigResource.Type.BROKER, "1", incremental_configs=[entry])
        client = AdminClient(self.connection.librdkafka())
        (done,) = client.incremental_alter_configs([brokers]).values()
        done.result()

    def values(self) -> list[bytes | None]:
        found = read_log(self.connection, self.topic)
        return [record.value for record in found if record.key != FENCE_KEY]


@pytest.fixture
def lab(connection: Connection, topic_name: str) -> Iterator[Lab]:
    with Lab(connection, topic_name) as lab:
        yield lab


@pytest.fixture
def patient_lab(broker: EmbeddedBroker, topic_name: str) -> Iterator[Lab]:
    """On a broker that forgets nothing while the test runs, however slowly."""
    with Lab(Connection(bootstrap_servers=broker.bootstrap_servers), topic_name) as lab:
        yield lab


def test_a_holder_that_cannot_be_fenced_cannot_be_taken_over(lab: Lab) -> None:
    old, new = lab.log(), lab.log()
    old.take_over(FenceNote("old", 1))
    old.append([Write(b"key", b"1")])
    lab.wait_until_forgotten()
    with pytest.raises(FencedError, match="forgotten") as refused:
        new.take_over(FenceNote("new", 2))
    assert "old" in str(refused.value)
    assert new.fence is None
    # The old holder is none the worse for it, and gives up by itself in time.
    old.append([Write(b"key", b"2")])
    lab.clock.shift_s = 13 * HOURS_S
    with pytest.raises(FencedError, match="not renewed"):
        old.append([Write(b"key", b"zombie")])
    new.take_over(FenceNote("new", 2))
    new.append([Write(b"key", b"3")])
    assert lab.values() == [b"1", b"2", b"3"]


def test_a_holder_that_released_its_partition_is_followed_at_once(lab: Lab) -> None:
    old, new = lab.log(), lab.log()
    old.take_over(FenceNote("old", 1))
    old.release()
    lab.wait_until_forgotten()
    new.take_over(FenceNote("new", 2))
    new.append([Write(b"key", b"1")])
    assert lab.values() == [b"1"]


def test_a_person_can_say_that_the_earlier_holder_is_gone(lab: Lab) -> None:
    old, new = lab.log(), lab.log()
    old.take_over(FenceNote("old", 1))
    old.close()
    lab.wait_until_forgotten()
    with pytest.raises(FencedError, match="forgotten"):
        new.take_over(FenceNote("new", 2))
    RealTopic(lab.connection, lab.topic).produce((FENCE_KEY, None), partition=0)
    new.take_over(FenceNote("new", 2))
    assert new.fence is not None


def test_a_renewed_fence_survives(patient_lab: Lab) -> None:
    lab = patient_lab
    old, new = lab.log(), lab.log()
    first = old.take_over(FenceNote("old", 1))
    lab.clock.shift_s = 7 * HOURS_S
    old.append([Write(b"key", b"1")])
    assert old.fence is not None
    assert old.fence.epoch == first.epoch + 1
    lab.clock.shift_s = 14 * HOURS_S
    old.append([Write(b"key", b"2")])
    new.take_over(FenceNote("new", 2))
    with pytest.raises(FencedError):
        old.append([Write(b"key", b"zombie")])
    assert lab.values() == [b"1", b"2"]
