"""The target topic of a copy: created like the source, or continued from an earlier copy."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from lastword.errors import ConfigError, TopicNotFoundError, TopicUnfitError
from lastword.kafka.admin import Admin, TopicInfo
from lastword.kafka.groups import Committed, Groups
from lastword.kafka.groups.names import copy_group
from lastword.records import TopicPartition

_COMPACT = "compact"
_PER_BROKER = "replication.throttled.replicas"


@dataclass(frozen=True)
class Endpoints:
    """Source and target with their ids, so that a recreated topic is detected."""

    source: TopicInfo
    target: TopicInfo

    @property
    def mark(self) -> str:
        """What is committed with every position of the copy."""
        ids = {"source": self.source.topic_id, "target": self.target.topic_id}
        return msgspec.json.encode(ids).decode()

    @property
    def sources(self) -> list[TopicPartition]:
        """The partitions that are read."""
        return [TopicPartition(self.source.name, p) for p in range(self.source.partitions)]


def prepare(admin: Admin, source: str, target: str, partitions: int | None) -> Endpoints:
    """Create the target with the settings of the source, unless it is there already.

    Raises TopicUnfitError for a source that is not compacted, and ConfigError for a target with
    another number of partitions.
    """
    if source == target:
        raise ConfigError("a topic cannot be copied into itself", hint="name another topic")
    found = admin.describe(source)
    settings = admin.setting_sources(source)
    if _COMPACT not in settings["cleanup.policy"].value:
        raise TopicUnfitError(
            f"{source} is not compacted: it has no keys to copy",
            hint="copy event topics with a pipeline; see docs/guides/pipelines-cluster.md",
        )
    try:
        there = admin.describe(target)
    except TopicNotFoundError:
        there = None
    if there is None:
        if partitions is None:
            raise ConfigError(
                f"there is no topic {target!r} yet",
                hint="give the number of partitions: --partitions N",
            )
        own = {
            key: each.value
            for key, each in settings.items()
            if each.source == "topic" and not key.endswith(_PER_BROKER)
        }
        admin.create(target, partitions=partitions, replication=found.replication, settings=own)
        there = admin.describe(target)
    if partitions is not None and there.partitions != partitions:
        raise ConfigError(
            f"{target} has {there.partitions} partitions, not {partitions}",
            hint="name another topic, or omit --partitions to continue with this one",
        )
    return Endpoints(found, there)


def positions_of(admin: Admin, groups: Groups, ends: Endpoints) -> dict[TopicPartition, int] | None:
    """Where an earlier copy stopped; None if there was none and the target is empty.

    Raises TopicUnfitError if the target holds anything else than a copy of this source.
    """
    committed = groups.committed(copy_group(ends.target.name), ends.sources)
    if committed and all(each.metadata == ends.mark for each in committed.values()):
        return {place: each.offset for place, each in committed.items()}
    bounds = admin.bounds(ends.target.name, range(ends.target.partitions))
    if any(each.start < each.end for each in bounds.values()):
        raise TopicUnfitError(
            f"{ends.target.name} has records that are not copied from {ends.source.name}",
            hint="copy into a new topic, or delete this one first",
        )
    return None


def marked(ends: Endpoints, offsets: dict[TopicPartition, int]) -> dict[TopicPartition, Committed]:
    """The positions as they are committed."""
    return {place: Committed(offset, ends.mark) for place, offset in offsets.items()}
