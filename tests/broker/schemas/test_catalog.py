"""The catalog of a real cluster: written once, read back, changed and forgotten."""

from __future__ import annotations

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.catalog.catalog import CATALOG_TOPIC, read_catalog, write_entries
from lastword.catalog.catalog_entry import CatalogEntry
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.pipelines import Pipeline, tumbling
from lastword.testing.read_log import read_log
from lastword.topics.creation import create_topic

pytestmark = pytest.mark.broker


@pytest.fixture
def connection(broker: EmbeddedBroker) -> Connection:
    return Connection(bootstrap_servers=broker.bootstrap_servers)


def catalog_of(connection: Connection) -> dict[str, CatalogEntry]:
    with Admin(connection) as admin:
        return read_catalog(admin, KafkaLog(connection))


def write(connection: Connection, topic: str, entry: CatalogEntry | None) -> None:
    write_entries(connection, KafkaLog(connection), {topic: entry})


def test_an_entry_is_written_updated_and_forgotten(connection: Connection, topic_name: str) -> None:
    write(connection, topic_name, CatalogEntry(key="string", value="int64"))
    write(connection, topic_name, CatalogEntry(description="counts"))
    known = CatalogEntry(key="string", value="int64", description="counts")
    assert catalog_of(connection)[topic_name] == known
    write(connection, topic_name, None)
    assert topic_name not in catalog_of(connection)


def test_unchanged_entries_of_the_catalog_are_not_written_again(
    connection: Connection, topic_name: str
) -> None:
    for _ in range(3):
        write(connection, topic_name, CatalogEntry(key="string", value="int64"))
    written = [
        each for each in read_log(connection, CATALOG_TOPIC) if each.key == topic_name.encode()
    ]
    assert len(written) == 1


def test_the_catalog_is_compacted_and_has_one_partition(
    connection: Connection, topic_name: str
) -> None:
    write(connection, topic_name, CatalogEntry(value="json"))
    with Admin(connection) as admin:
        assert admin.describe(CATALOG_TOPIC).partitions == 1
        assert admin.settings(CATALOG_TOPIC)["cleanup.policy"] == "compact"


def test_a_pipeline_says_how_its_topics_are_written(
    connection: Connection, topic_name: str
) -> None:
    with Admin(connection) as admin:
        create_topic(admin, topic_name, partitions=1)
    app = Pipeline(f"{topic_name}-app", connection=connection)
    clicks = app.stream(topic_name)
    counts = clicks.group_by_key().count("counts")
    minutes = clicks.group_by_key().windowed_by(tumbling("60s")).count("minutes")
    final = minutes.suppress()
    rekeyed = clicks.select_key(lambda _key, value: value["country"])
    rekeyed.group_by_key().count("per-country")
    clicks.to_table(f"{topic_name}-table")
    app.create_topics()
    known = catalog_of(connection)
    by = f"pipeline {topic_name}-app"
    assert known[str(counts.topic)] == CatalogEntry(
        key="string", value="int64", written_by=f"{by}, store counts"
    )
    assert known[str(minutes.topic)].window == known[str(final.topic)].window == "60000"
    assert known[f"{topic_name}-app-per-country-repartition"].value == "json"
    assert known[f"{topic_name}-table"] == CatalogEntry(key="string", value="json", written_by=by)
