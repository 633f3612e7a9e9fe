"""The embedded broker is a real Kafka that starts, keeps its data and goes away in order."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from lastword.broker import cluster_probe
from lastword.broker.embedded import EmbeddedBroker
from lastword.broker.runtime import KAFKA_JARS, KafkaRuntime
from lastword.errors import BrokerError, ConfigError, PortTakenError
from lastword.jvm.file_lock import locked
from lastword.jvm.java import Java
from lastword.testing import wait_until


@pytest.fixture(scope="module")
def own_broker(
    kafka_runtime: KafkaRuntime, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EmbeddedBroker]:
    """A broker that the tests of this module may stop, kill and pause; each leaves it running."""
    settings = {
        "log.cleaner.backoff.ms": "1234",
        "message.max.bytes": "54321",
        "broker.session.timeout.ms": "3000",  # how long a killed broker waits to be let in again
    }
    # On macOS the directory for a user's data has a space in its name.
    directory = tmp_path_factory.mktemp("own") / "Application Support"
    with EmbeddedBroker(directory, kafka_runtime, settings=settings) as running:
        yield running


def create(broker: EmbeddedBroker, topic: str, *, partitions: int = 1, replicas: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(topic, partitions, replicas)])[topic].result(timeout=180)


def produce(broker: EmbeddedBroker, topic: str, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "acks": "all"})
    for value in values:
        producer.produce(topic, key=b"key", value=value, partition=0)
    assert producer.flush(20) == 0


def consume(broker: EmbeddedBroker, topic: str, count: int) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "any"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        return [message.value() for message in consumer.consume(count, timeout=180)]
    finally:
        consumer.close()


def answers(broker: EmbeddedBroker, timeout: float = 180) -> bool:
    try:
        return bool(cluster_probe.ask("127.0.0.1", broker.info.nodes[0].port, timeout).broker_ids)
    except OSError:
        return False


def test_a_topic_can_be_written_as_soon_as_the_broker_is_started(
    broker: EmbeddedBroker, topic_name: str
) -> None:
    create(broker, topic_name)
    produce(broker, topic_name, b"1")
    assert consume(broker, topic_name, 1) == [b"1"]


def test_a_restart_keeps_data_cluster_and_ports(
    own_broker: EmbeddedBroker, topic_name: str
) -> None:
    create(own_broker, topic_name)
    produce(own_broker, topic_name, b"1", b"2")
    before = own_broker.info
    own_broker.restart()
    assert own_broker.info == before
    node = before.nodes[0]
    assert cluster_probe.ask("127.0.0.1", node.port, 60).cluster_id == before.cluster_id
    assert consume(own_broker, topic_name, 2) == [b"1", b"2"]


def test_a_killed_broker_keeps_what_it_acknowledged(
    own_broker: EmbeddedBroker, topic_name: str
) -> None:
    create(own_broker, topic_name)
    produce(own_broker, topic_name, b"1")
    own_broker.kill()
    assert not answers(own_broker)
    own_broker.start()
    assert consume(own_broker, topic_name, 1) == [b"1"]


def test_a_paused_broker_answers_nothing_until_it_is_resumed(own_broker: EmbeddedBroker) -> None:
    own_broker.pause()
    try:
        assert not answers(own_broker, timeout=0.5)
    finally:
        own_broker.resume()
    wait_until(lambda: answers(own_broker), "the broker to answer again")


def test_a_second_broker_in_the_same_directory_is_refused_and_the_first_lives_on(
    own_broker: EmbeddedBroker, kafka_runtime: KafkaRuntime
) -> None:
    directory = Path(own_broker.info.nodes[0].directory).parent
    pid = own_broker.nodes[0].pid
    with pytest.raises(BrokerError, match=f"runs in .* already .process {pid}"):
        EmbeddedBroker(directory, kafka_runtime).start()
    assert own_broker.nodes[0].pid == pid
    assert answers(own_broker)


def test_any_broker_setting_takes_effect(own_broker: EmbeddedBroker) -> None:
    admin = AdminClient({"bootstrap.servers": own_broker.bootstrap_servers})
    resource = ConfigResource(ResourceType.BROKER, "1")
    settings = admin.describe_configs([resource])[resource].result(timeout=180)
    assert settings["log.cleaner.backoff.ms"].value == "1234"
    assert settings["message.max.bytes"].value == "54321"
    assert settings["auto.create.topics.enable"].value == "false"


def test_a_topic_is_never_created_by_asking_for_it(
    own_broker: EmbeddedBroker, topic_name: str
) -> None:
    with pytest.raises(KafkaException, match="UNKNOWN_TOPIC"):
        admin = AdminClient({"bootstrap.servers": own_broker.bootstrap_servers})
        raise KafkaException(admin.list_topics(topic_name, timeout=20).topics[topic_name].error)


def test_no_port_is_open_to_other_machines(own_broker: EmbeddedBroker) -> None:
    for port in own_broker.info.nodes[0].ports:
        socket.create_connection(("127.0.0.1", port), timeout=180).close()
        # A server on all addresses would have this one too, and the bind would fail.
        with socket.create_server(("127.0.0.2", port)) as ours:
            assert ours.getsockname() == ("127.0.0.2", port)


def test_a_taken_port_is_named_with_its_owner_and_an_alternative(
    own_broker: EmbeddedBroker, kafka_runtime: KafkaRuntime, tmp_path: Path
) -> None:
    taken = own_broker.info.nodes[0].port
    late = EmbeddedBroker(tmp_path, kafka_runtime, port=taken)
    pid = own_broker.nodes[0].pid
    with pytest.raises(PortTakenError, match=f"port {taken} is taken by process {pid} ") as caught:
        late.start()
    assert "--port" in (caught.value.hint or "")


def test_a_broker_that_cannot_run_says_why(kafka_runtime: KafkaRuntime, tmp_path: Path) -> None:
    wrong = EmbeddedBroker(tmp_path, kafka_runtime, settings={"num.io.threads": "many"})
    with pytest.raises(BrokerError, match=r"Invalid value many for configuration num\.io\.threads"):
        wrong.start()
    assert not wrong.info.running_nodes()


def test_a_setting_that_lastword_decides_is_refused(
    kafka_runtime: KafkaRuntime, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="listeners"):
        EmbeddedBroker(tmp_path, kafka_runtime, settings={"listeners": "PLAINTEXT://:1"})


def test_the_data_of_one_broker_is_not_continued_by_three(
    kafka_runtime: KafkaRuntime, tmp_path: Path
) -> None:
    data = tmp_path / "node-1" / "data"
    data.mkdir(parents=True)
    (data / "meta.properties").write_text("cluster.id=4L6g3nShT-eMCtK--X86sw\n")
    with pytest.raises(BrokerError, match="holds the data of 1 broker") as caught:
        EmbeddedBroker(tmp_path, kafka_runtime, brokers=3).start()
    assert "--brokers 1" in (caught.value.hint or "")


def test_two_that_start_a_broker_at_once_do_not_disturb_each_other(
    kafka_runtime: KafkaRuntime, tmp_path: Path
) -> None:
    with (
        locked(tmp_path / "start.lock", timeout=1),  # as another process would
        pytest.raises(BrokerError, match="another process is starting a broker"),
    ):
        EmbeddedBroker(tmp_path, kafka_runtime).start(timeout=0.1)
    assert not (tmp_path / "node-1").exists()


def test_the_log_of_the_broker_can_be_read(own_broker: EmbeddedBroker) -> None:
    log = own_broker.info.nodes[0].log_file.read_text()
    assert "Kafka Server started" in log
    assert "Starting the log cleaner" in log


def test_java_maps_the_archive_of_the_brokers_classes_beside_the_agent(
    own_broker: EmbeddedBroker, kafka_runtime: KafkaRuntime
) -> None:
    assert kafka_runtime.class_options, "lastword broker fetch, part of make setup, makes it"
    mapped = Path(f"/proc/{own_broker.nodes[0].pid}/maps").read_text()
    assert "/broker-classes/broker-" in mapped


def test_the_jars_are_there_and_verified_without_starting_java_or_ivy(
    kafka_runtime: KafkaRuntime,
) -> None:
    home = kafka_runtime.metrics_agent.parents[2]
    jars = KAFKA_JARS.resolve(home, Java(Path("/nonexistent/java"), 17, "a test"))
    assert kafka_runtime.metrics_agent in jars
    assert len(jars) == 47
