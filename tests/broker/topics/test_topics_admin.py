"""What the admin client promises about topics, settings and offsets, on a real broker."""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import Producer

from lastword.broker.embedded import EmbeddedBroker
from lastword.broker.runtime import KafkaRuntime
from lastword.clock import SYSTEM_CLOCK
from lastword.errors import (
    ConfigError,
    ConnectionFailedError,
    TopicExistsError,
    TopicNotFoundError,
)
from lastword.kafka.admin import Admin
from lastword.kafka.admin.calls import AdminCalls
from lastword.kafka.admin.log_dirs import replica_sizes
from lastword.kafka.admin.transactions import open_transactions
from lastword.kafka.connection import Connection
from lastword.testing.waiting import wait_until
from lastword.topics.creation import create_topic
from lastword.topics.profiles import PROFILES
from tests.support.network.kafka_proxy import METADATA, KafkaProxy

pytestmark = pytest.mark.broker

IMPATIENT_S = 2.0  # for answers that will not come


@pytest.fixture
def connection(broker: EmbeddedBroker) -> Connection:
    return Connection(bootstrap_servers=broker.bootstrap_servers)


@pytest.fixture
def admin(connection: Connection) -> Iterator[Admin]:
    with Admin(connection) as admin:
        yield admin


@pytest.fixture
def nobody() -> Connection:
    """An address where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return Connection(bootstrap_servers=f"127.0.0.1:{taken.getsockname()[1]}")


def test_a_created_topic_is_known_at_once_to_everyone(
    admin: Admin, connection: Connection, topic_name: str
) -> None:
    for attempt in range(5):
        name = f"{topic_name}-{attempt}"
        created = create_topic(admin, name, partitions=3)
        with Admin(connection) as other:
            assert other.describe(name) == created
            assert name in other.topics()
            assert other.end_offsets(name, range(3)) == {0: 0, 1: 0, 2: 0}
        assert (created.partitions, created.replication) == (3, 1)
        assert [partition.leader for partition in created.layout] == [1, 1, 1]


def test_a_deleted_topic_is_gone_at_once_and_its_name_is_free(
    admin: Admin, topic_name: str
) -> None:
    ids = set()
    for _ in range(3):
        ids.add(create_topic(admin, topic_name).topic_id)
        admin.delete(topic_name)
        assert topic_name not in admin.topics()
        with pytest.raises(TopicNotFoundError):
            admin.describe(topic_name)
    assert len(ids) == 3


def test_the_topic_id_is_written_as_kafka_writes_it(
    admin: Admin, broker: EmbeddedBroker, topic_name: str
) -> None:
    data_dir = broker.nodes[0].info.data_dir
    for attempt in range(8):  # half of all ids have a character that librdkafka writes otherwise
        name = f"{topic_name}-{attempt}"
        found = create_topic(admin, name, partitions=1).topic_id
        file = data_dir / f"{name}-0" / "partition.metadata"
        wait_until(file.exists, "the broker has written the topic id")
        assert f"topic_id: {found}" in file.read_text()


@pytest.mark.parametrize(
    "ask",
    [
        lambda admin, name: admin.describe(name),
        lambda admin, name: admin.settings(name),
        lambda admin, name: admin.end_offsets(name, [0]),
        lambda admin, name: admin.stable_offsets(name, [0]),
        lambda admin, name: admin.alter(name, {"segment.ms": "10000"}),
        lambda admin, name: admin.delete(name),
        lambda admin, name: open_transactions(admin.connection, name, [0]),
    ],
    ids=["describe", "settings", "end", "stable", "alter", "delete", "transactions"],
)
def test_a_topic_that_is_not_there_is_said_to_be_not_there_and_not_created(
    admin: Admin, topic_name: str, ask: Callable[[Admin, str], object]
) -> None:
    with pytest.raises(TopicNotFoundError) as caught:
        ask(admin, topic_name)
    assert caught.value.hint is not None
    assert topic_name not in admin.topics()


def test_a_partition_that_is_not_there_is_named(admin: Admin, topic_name: str) -> None:
    create_topic(admin, topic_name, partitions=2)
    with pytest.raises(TopicNotFoundError, match="has 2 partitions, but no partition 7"):
        admin.end_offsets(topic_name, [0, 7])


def test_creating_what_exists_fails(admin: Admin, topic_name: str) -> None:
    create_topic(admin, topic_name)
    with pytest.raises(TopicExistsError):
        create_topic(admin, topic_name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replication": 3}, "replication factor of 3"),
        ({"partitions": 0}, "0 partitions"),
        ({"settings": {"segment.ms": "soon"}}, "segment.ms"),
        ({"settings": {"compact.harder": "true"}}, "compact.harder"),
        ({"profile": "violent"}, "'violent' is not a topic profile"),
    ],
    ids=str,
)
def test_a_setting_that_the_broker_refuses_is_a_config_error(
    admin: Admin, topic_name: str, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        create_topic(admin, topic_name, **options)  # type: ignore[arg-type]
    assert caught.value.hint is not None
    assert topic_name not in admin.topics()


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_is_what_the_topic_gets_and_own_settings_win(
    admin: Admin, topic_name: str, profile: str
) -> None:
    own = {"delete.retention.ms": "100"}
    create_topic(admin, topic_name, profile=profile, settings=own)
    expected = {**PROFILES[profile].settings, **own}
    found = admin.setting_sources(topic_name)
    assert {name: found[name].value for name in expected} == expected
    assert {found[name].source for name in expected} == {"topic"}


def test_altering_changes_what_is_named_and_none_goes_back_to_the_default(
    admin: Admin, topic_name: str
) -> None:
    create_topic(admin, topic_name, profile="aggressive")
    admin.alter(topic_name, {"segment.ms": "20000", "delete.retention.ms": None})
    found = admin.setting_sources(topic_name)
    assert found["segment.ms"] == ("20000", "topic")
    assert found["delete.retention.ms"] == ("86400000", "default")
    assert found["min.cleanable.dirty.ratio"] == ("0.01", "topic")


def test_an_altered_setting_is_in_effect_when_alter_returns(admin: Admin, topic_name: str) -> None:
    create_topic(admin, topic_name)
    for segment_ms in range(10_000, 10_030):
        admin.alter(topic_name, {"segment.ms": str(segment_ms)})
        assert admin.settings(topic_name)["segment.ms"] == str(segment_ms)
    admin.alter(topic_name, {"min.cleanable.dirty.ratio": "0.50"})  # the same, written otherwise
    assert admin.settings(topic_name)["min.cleanable.dirty.ratio"] == "0.5"


def test_the_end_counts_an_open_transaction_and_the_stable_end_stops_before_it(
    admin: Admin, connection: Connection, topic_name: str
) -> None:
    create_topic(admin, topic_name, partitions=2)
    producer = Producer(connection.librdkafka() | {"transactional.id": topic_name})
    producer.init_transactions()
    plain = Producer(connection.librdkafka())
    plain.produce(topic_name, b"v", b"k", partition=1)
    plain.flush()
    producer.begin_transaction()
    for _ in range(3):
        producer.produce(topic_name, b"v", b"k", partition=1)
    producer.flush()
    assert admin.start_offsets(topic_name, [0, 1]) == {0: 0, 1: 0}
    assert admin.end_offsets(topic_name, [0, 1]) == {0: 0, 1: 4}
    assert admin.stable_offsets(topic_name, [0, 1]) == {0: 0, 1: 1}
    (open_one,) = open_transactions(connection, topic_name, [0, 1])
    assert (open_one.partition, open_one.start_offset) == (1, 1)
    assert (open_one.transactional_id, open_one.timeout_ms) == (topic_name, 60_000)
    assert open_one.started_ms is not None
    said = open_one.describe(open_one.started_ms + 5_000)
    assert f"transaction '{topic_name}'" in said
    assert "open since offset 1, for 5 s" in said
    producer.abort_transaction()


def test_sizes_are_those_of_the_files(
    admin: Admin, connection: Connection, broker: EmbeddedBroker, topic_name: str
) -> None:
    create_topic(admin, topic_name, partitions=2)
    producer = Producer(connection.librdkafka())
    producer.produce(topic_name, b"v" * 1000, b"k", partition=1)
    producer.flush()
    data_dir = broker.nodes[0].info.data_dir
    files = [
        sum(path.stat().st_size for path in (data_dir / f"{topic_name}-{p}").glob("*.log"))
        for p in (0, 1)
    ]
    sizes = replica_sizes(connection, topic_name, 2)
    assert [(size.partition, size.broker, size.size_bytes) for size in sizes] == [
        (0, 1, files[0]),
        (1, 1, files[1]),
    ]
    assert files[1] > 1000


def test_a_cluster_that_does_not_answer_is_not_a_missing_topic(
    nobody: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    questions = [
        lambda admin: admin.cluster_id(),
        lambda admin: admin.describe("users"),
        lambda admin: admin.settings("users"),
        lambda admin: admin.end_offsets("users", [0]),
        lambda admin: admin.topics(),
        lambda admin: admin.delete("users"),
    ]
    caplog.set_level(logging.INFO)
    for question in questions:
        with pytest.raises(ConnectionFailedError) as caught:
            question(Admin(nobody, timeout_seconds=0.4))
        assert caught.value.retriable
        assert nobody.bootstrap_servers in str(caught.value)
    refused = [line for line in caplog.messages if "Connection refused" in line]
    assert len(refused) == 1, "the same failure is said once, by whichever client"


def test_an_admin_answers_again_when_its_broker_is_back(
    kafka_runtime: KafkaRuntime, tmp_path: Path
) -> None:
    with EmbeddedBroker(tmp_path, kafka_runtime) as broker:
        connection = Connection(bootstrap_servers=broker.bootstrap_servers)
        before = create_topic(Admin(connection), "kept", partitions=1)
        admin = Admin(connection, timeout_seconds=IMPATIENT_S)
        broker.kill()
        with pytest.raises(ConnectionFailedError):
            admin.describe("kept")
        broker.start()

        def found() -> str | None:
            with suppress(ConnectionFailedError):  # a busy machine may take longer than that
                return admin.describe("kept").topic_id
            return None

        assert wait_until(found, "an answer") == before.topic_id


def test_a_new_client_is_connected_before_it_is_asked_for_offsets(broker: EmbeddedBroker) -> None:
    with KafkaProxy(broker.bootstrap_servers) as proxy:
        behind = Connection(bootstrap_servers=proxy.bootstrap_servers)
        calls = AdminCalls(behind, timeout_seconds=IMPATIENT_S, clock=SYSTEM_CLOCK)
        answers: list[int] = []

        def ask(client: object, seconds: float) -> dict[object, Future[object]]:
            answers.append(proxy.passed["response", METADATA])
            return {}

        with calls.to_leaders() as leaders:
            leaders.each(ask, IMPATIENT_S, doing="asking")
    assert answers[0] > 0


def test_the_cluster_id_is_that_of_the_broker(admin: Admin, broker: EmbeddedBroker) -> None:
    assert admin.cluster_id() == broker.info.cluster_id
    assert re.fullmatch(r"[\w-]{22}", admin.cluster_id())
    assert [each.address for each in admin.brokers()] == [broker.bootstrap_servers]
