"""How a pipeline is doing, seen from any other process: all of it is in Kafka."""

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
    """One topic that a pipeline reads: its positions by partition, and what is still to come."""

    topic: str
    positions: dict[int, int]
    lag: int


@dataclass(frozen=True)
class StoreStatus:
    """One store by its changelog: how many offsets it spans, and its bytes on the leaders."""

    store: str
    changelog: str
    partitions: int
    offsets: int
    size_bytes: int


@dataclass(frozen=True)
class PipelineStatus:
    """``driver`` is None when nobody runs it; one that was killed is gone after some seconds."""

    application_id: str
    driver: Member | None
    sources: tuple[SourceStatus, ...]
    stores: tuple[StoreStatus, ...]

    @property
    def lag(self) -> int:
        """Records to be processed, of all sources."""
        return sum(source.lag for source in self.sources)


def applications(admin: Admin) -> list[str]:
    """Every pipeline that has ever run on the cluster, by its control topic."""
    topics = set(admin.topics())
    names = sorted(topic.removesuffix(_CONTROL) for topic in topics if topic.endswith(_CONTROL))
    return [name for name in names if f"{name}-quarantine" in topics]


def pipeline_status(connection: Connection, application_id: str) -> PipelineStatus:
    """Raises PipelineError when no pipeline of that name has run."""
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
    """Those that still exist: a source may be gone, its positions stay for a week."""
    there = set(admin.topics())
    topics = sorted({place.topic for place in committed} & there)
    lag = lag_of(admin, committed, {topic: admin.describe(topic).partitions for topic in topics})
    return [SourceStatus(topic, _positions(committed, topic), lag[topic]) for topic in topics]


def _positions(committed: dict[TopicPartition, Committed], topic: str) -> dict[int, int]:
    return {p.partition: at.offset for p, at in sorted(committed.items()) if p.topic == topic}


def _changelogs(topics: Collection[str], application_id: str, known: Collection[str]) -> list[str]:
    """Ours, and not those of an application whose name begins with ours and a dash."""
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
