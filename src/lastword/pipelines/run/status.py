"""The status of a pipeline for any other process: everything is read from Kafka."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from lastword.errors import PipelineError
from lastword.kafka.admin import Admin
from lastword.kafka.admin.log_dirs import replica_sizes
from lastword.kafka.connection import Connection
from lastword.kafka.groups import Committed, Groups, Member
from lastword.kafka.groups.names import pipeline_group
from lastword.pipelines.run.lag import lag_of
from lastword.records import TopicPartition

_CONTROL, _CHANGELOG = "-control", "-changelog"


@dataclass(frozen=True)
class SourceStatus:
    """One source topic: its positions by partition, and its lag."""

    topic: str
    positions: dict[int, int]
    lag: int


@dataclass(frozen=True)
class StoreStatus:
    """One store, by its changelog: the number of offsets it spans, and its bytes on the leaders."""

    store: str
    changelog: str
    partitions: int
    offsets: int
    size_bytes: int


@dataclass(frozen=True)
class PipelineStatus:
    """``driver`` is None if none runs; a killed driver disappears after some seconds."""

    application_id: str
    driver: Member | None
    sources: tuple[SourceStatus, ...]
    stores: tuple[StoreStatus, ...]

    @property
    def lag(self) -> int:
        """The unprocessed records of all sources."""
        return sum(source.lag for source in self.sources)


def applications(admin: Admin) -> list[str]:
    """All pipelines that have ever run on the cluster, found by their control topics."""
    topics = set(admin.topics())
    names = sorted(topic.removesuffix(_CONTROL) for topic in topics if topic.endswith(_CONTROL))
    return [name for name in names if f"{name}-quarantine" in topics]


def pipeline_status(connection: Connection, application_id: str) -> PipelineStatus:
    """The status of a pipeline; raises PipelineError if none of that name has run."""
    groups = Groups(connection)
    with Admin(connection) as admin:
        known = applications(admin)
        if application_id not in known:
            raise PipelineError(
                f"no pipeline {application_id!r} has run on this cluster",
                hint="lastword pipeline status lists those that have",
            )
        group = pipeline_group(application_id)
        members = groups.members(group)
        sources = _sources(admin, groups.everything_committed(group))
        changelogs = _changelogs(admin.topics(), application_id, known)
        stores = [_store(admin, connection, application_id, topic) for topic in changelogs]
    return PipelineStatus(
        application_id, members[0] if members else None, tuple(sources), tuple(stores)
    )


def _sources(admin: Admin, committed: dict[TopicPartition, Committed]) -> list[SourceStatus]:
    """The sources that still exist: the positions of a deleted one remain for a week."""
    there = set(admin.topics())
    topics = sorted({place.topic for place in committed} & there)
    lag = lag_of(admin, committed, {topic: admin.describe(topic).partitions for topic in topics})
    return [SourceStatus(topic, _positions(committed, topic), lag[topic]) for topic in topics]


def _positions(committed: dict[TopicPartition, Committed], topic: str) -> dict[int, int]:
    return {p.partition: at.offset for p, at in sorted(committed.items()) if p.topic == topic}


def _changelogs(topics: Collection[str], application_id: str, known: Collection[str]) -> list[str]:
    """The application's changelogs, without those of applications whose id begins with its id."""
    others = tuple(f"{name}-" for name in known if name.startswith(f"{application_id}-"))
    return sorted(
        topic
        for topic in topics
        if topic.startswith(f"{application_id}-")
        and topic.endswith(_CHANGELOG)
        and not (others and topic.startswith(others))
    )


def _store(admin: Admin, connection: Connection, application_id: str, topic: str) -> StoreStatus:
    info = admin.describe(topic)
    partitions = range(info.partitions)
    bounds = admin.bounds(topic, partitions)
    leaders = {each.partition: each.leader for each in info.layout}
    return StoreStatus(
        topic.removeprefix(f"{application_id}-").removesuffix(_CHANGELOG),
        topic,
        info.partitions,
        sum(each.end - each.start for each in bounds.values()),
        sum(
            replica.size_bytes
            for replica in replica_sizes(connection, topic, info.partitions)
            if leaders.get(replica.partition) == replica.broker
        ),
    )
