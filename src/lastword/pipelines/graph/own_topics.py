"""Creates the topics that a pipeline writes, and applies its settings to existing ones."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from lastword.errors import PartitionCountError, TopicNotFoundError, TopicUnfitError
from lastword.kafka.admin import Admin
from lastword.pipelines.graph.node import SourcePlan
from lastword.pipelines.graph.topology import OwnTopic

log = logging.getLogger(__name__)

BROKERS_DEFAULT = -1
_A_DAY_MS = 86_400_000


def ensure_topic(
    admin: Admin, topic: OwnTopic, *, partitions: int, replication: int = BROKERS_DEFAULT
) -> int:
    """Create the topic, or alter settings that differ; returns its number of partitions.

    The number of partitions cannot be changed, because it would split the history of keys. Only a
    table and a topic of events may have another number than their source.
    """
    wanted = settings_of(topic)
    try:
        found = admin.describe(topic.name)
    except TopicNotFoundError:
        admin.create(topic.name, partitions=partitions, replication=replication, settings=wanted)
        return partitions
    current = admin.settings(topic.name)
    if topic.purpose in ("table", "events"):
        _check_policy(topic, is_compacted="compact" in current.get("cleanup.policy", ""))
        wanted = dict(topic.settings)
    elif found.partitions != partitions:
        raise PartitionCountError(
            f"{topic.name} has {found.partitions} partitions, its source has {partitions}",
            hint=f"a {topic.purpose} topic needs as many as its source; start again under another "
            "application id",
        )
    changed = {name: value for name, value in wanted.items() if current.get(name) != value}
    if changed:
        log.info("%s: altering %s", topic.name, changed)
        admin.alter(topic.name, changed)
    return found.partitions


def _check_policy(topic: OwnTopic, *, is_compacted: bool) -> None:
    """It may belong to another program, and another policy would delete its records."""
    if topic.purpose == "table" and not is_compacted:
        raise TopicUnfitError(
            f"{topic.name} exists and is not compacted",
            hint="write to another topic, or set cleanup.policy=compact on this one",
        )
    if topic.purpose == "events" and is_compacted:
        raise TopicUnfitError(
            f"{topic.name} exists and is compacted: it would keep only the last event of each key",
            hint="write to another topic, or set cleanup.policy=delete on this one",
        )


def settings_of(topic: OwnTopic) -> dict[str, str]:
    """The settings for the topic's purpose, overridden by the user's own.

    Windows expire: their changelog deletes records a day after the retention of its store. Final
    windows are deleted only by tombstones: the broker would count the age of their events, and
    delete windows of old events before anybody has read them. From a repartition topic, only the
    pipeline deletes records, after processing them. Quarantined records and events stay as long as
    the broker's default retention.
    """
    if topic.purpose == "repartition":
        policy = {"cleanup.policy": "delete", "retention.ms": "-1"}
    elif topic.purpose in ("quarantine", "events"):
        policy = {"cleanup.policy": "delete"}
    elif topic.retention_ms is not None:
        kept_ms = topic.retention_ms + _A_DAY_MS
        policy = {"cleanup.policy": "compact,delete", "retention.ms": str(kept_ms)}
    else:
        policy = {"cleanup.policy": "compact"}
    return policy | dict(topic.settings)


def check_tables(admin: Admin, topics: Iterable[str]) -> None:
    """Raise ConfigError for a join with a topic that is not compacted: it is not a table."""
    for topic in topics:
        if "compact" not in admin.settings(topic).get("cleanup.policy", ""):
            raise TopicUnfitError(
                f"{topic} is not compacted, so it lacks the current value of some keys",
                hint="join with a compacted topic; to_table() makes one",
            )


def check_order(sources: Iterable[SourcePlan], partitions: int) -> None:
    """Refuse changes of a database in several partitions: a TRUNCATE is in only one of them."""
    for source in sources:
        if source.in_order and partitions != 1:
            raise TopicUnfitError(
                f"{source.topic} has {partitions} partitions: changes of different rows are in no "
                "order there, and a TRUNCATE or the end of a snapshot is in one of them only",
                hint="have the connector write a topic of one partition: "
                "topic.creation.default.partitions=1",
            )


def partitions_of(admin: Admin, sources: Iterable[str]) -> int:
    """The common number of partitions: tasks join co-partitioned topics."""
    counts = {topic: admin.describe(topic).partitions for topic in sources}
    if len(set(counts.values())) != 1:
        raise PartitionCountError(
            "topics that are read together need the same number of partitions: "
            + ", ".join(f"{topic} has {count}" for topic, count in sorted(counts.items())),
            hint="copy one of them into a topic with the wanted number of partitions",
        )
    return counts.popitem()[1]
