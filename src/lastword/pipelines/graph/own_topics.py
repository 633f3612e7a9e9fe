"""Creates the topics a pipeline writes, and keeps the settings of existing ones as asked for."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from lastword.errors import PartitionCountError, TopicNotFoundError, TopicUnfitError
from lastword.kafka.admin import Admin
from lastword.pipelines.graph.topology import OwnTopic

log = logging.getLogger(__name__)

BROKERS_DEFAULT = -1
_A_DAY_MS = 86_400_000


def ensure_topic(
    admin: Admin, topic: OwnTopic, *, partitions: int, replication: int = BROKERS_DEFAULT
) -> int:
    """Create the topic, or alter what differs from what was asked for; returns its partitions.

    The number of partitions cannot be altered: every key's history would be split. Only a table
    may have another number than its source.
    """
    wanted = settings_of(topic)
    try:
        found = admin.describe(topic.name)
    except TopicNotFoundError:
        admin.create(topic.name, partitions=partitions, replication=replication, settings=wanted)
        return partitions
    current = admin.settings(topic.name)
    if topic.purpose == "table":
        # Somebody else's, perhaps: to compact it now would delete what they keep there.
        if "compact" not in current.get("cleanup.policy", ""):
            raise TopicUnfitError(
                f"{topic.name} is there already and is not compacted",
                hint="write into a topic of its own, or set cleanup.policy=compact on this one",
            )
        wanted = dict(topic.settings)
    elif found.partitions != partitions:
        raise PartitionCountError(
            f"{topic.name} has {found.partitions} partitions, its source has {partitions}",
            hint=f"a {topic.purpose} topic has as many as its source; start anew under another "
            "application id",
        )
    changed = {name: value for name, value in wanted.items() if current.get(name) != value}
    if changed:
        log.info("%s: altering %s", topic.name, changed)
        admin.alter(topic.name, changed)
    return found.partitions


def settings_of(topic: OwnTopic) -> dict[str, str]:
    """The policy that the purpose asks for, under the user's own settings.

    Windows expire: their changelog drops what is a day past the retention of its store. Final
    windows are there to be read, and leave by tombstones only: the broker would go by the age of
    their events, and delete those of old events before anybody has read them. A repartition
    topic is only a passage: nothing may leave it but what the pipeline has processed and deletes.
    Quarantined records stay as long as the broker keeps records.
    """
    if topic.purpose == "repartition":
        policy = {"cleanup.policy": "delete", "retention.ms": "-1"}
    elif topic.purpose == "quarantine":
        policy = {"cleanup.policy": "delete"}
    elif topic.retention_ms is not None:
        kept_ms = topic.retention_ms + _A_DAY_MS
        policy = {"cleanup.policy": "compact,delete", "retention.ms": str(kept_ms)}
    else:
        policy = {"cleanup.policy": "compact"}
    return policy | dict(topic.settings)


def check_tables(admin: Admin, topics: Iterable[str]) -> None:
    """Refuse to join with what is no table: a topic that forgets by age has no current value."""
    for topic in topics:
        if "compact" not in admin.settings(topic).get("cleanup.policy", ""):
            raise TopicUnfitError(
                f"{topic} is not compacted: it does not have every key's current value",
                hint="join with a compacted topic; to_table() makes one",
            )


def partitions_of(admin: Admin, sources: Iterable[str]) -> int:
    """The common number of partitions; keys of co-partitioned topics meet in one task."""
    counts = {topic: admin.describe(topic).partitions for topic in sources}
    if len(set(counts.values())) != 1:
        raise PartitionCountError(
            "topics that are read together need the same number of partitions: "
            + ", ".join(f"{topic} has {count}" for topic, count in sorted(counts.items())),
            hint="copy one of them into a topic with the wanted number of partitions",
        )
    return counts.popitem()[1]
