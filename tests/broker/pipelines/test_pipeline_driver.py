"""What a driver makes sure of before anything runs: the topics, and that they fit together."""

from __future__ import annotations

import pytest

from lastword.errors import PartitionCountError, TopicUnfitError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.pipelines import Pipeline, tumbling

EVENTS = {"cleanup.policy": "delete", "retention.ms": "-1"}


@pytest.fixture
def app(connection: Connection, admin: Admin, topic_name: str) -> Pipeline:
    """A pipeline whose one source, of its own name, has three partitions."""
    admin.create(topic_name, partitions=3, replication=1, settings=EVENTS)
    return Pipeline(topic_name, connection=connection, replication=1)


def test_every_topic_that_a_pipeline_writes_is_made_with_the_partitions_of_its_source(
    app: Pipeline, admin: Admin, topic_name: str
) -> None:
    events = app.stream(topic_name)
    events.group_by_key().windowed_by(tumbling("60s")).count("n").suppress()
    events.to_table(f"{topic_name}-copy")
    app.create_topics()
    names = ("n-changelog", "n-suppress-changelog", "n-final", "copy", "quarantine", "control")
    made = {name: admin.describe(f"{topic_name}-{name}").partitions for name in names}
    assert made == dict(zip(names, (3, 3, 3, 3, 1, 1), strict=True))
    app.create_topics()


def test_a_source_that_is_made_of_changed_keys_has_the_partitions_of_the_first(
    app: Pipeline, admin: Admin, topic_name: str
) -> None:
    rekeyed = app.stream(topic_name).select_key(lambda key, value: value)
    rekeyed.group_by_key().count("n")
    app.create_topics()
    for name in ("n-repartition", "n-changelog"):
        assert admin.describe(f"{topic_name}-{name}").partitions == 3


def test_topics_that_are_read_together_need_the_same_number_of_partitions(
    app: Pipeline, admin: Admin, topic_name: str
) -> None:
    other = f"{topic_name}-other"
    admin.create(other, partitions=2, replication=1, settings=EVENTS)
    app.stream(topic_name).merge(app.stream(other)).group_by_key().count("n")
    with pytest.raises(PartitionCountError, match="need the same number"):
        app.create_topics()


def test_a_topic_that_is_not_compacted_cannot_be_joined(
    app: Pipeline, admin: Admin, topic_name: str
) -> None:
    events = app.stream(topic_name)
    joined = events.join(topic_name, lambda event, row: row, "rows")
    joined.group_by_key().count("n")
    with pytest.raises(TopicUnfitError, match="not compacted"):
        app.create_topics()
