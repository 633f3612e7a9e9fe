"""One cluster membership per process and application, shared by its tables."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from lastword.cluster.cluster import Cluster
from lastword.cluster.offers import Traits
from lastword.errors import ConfigError
from lastword.kafka.forks import track
from lastword.metrics import Metrics, Sample
from lastword.table.table_config import TableConfig

_Key = tuple[str, str, str | None]


@dataclass(slots=True)
class _SharedCluster:
    cluster: Cluster
    topics: set[str] = field(default_factory=set)


class SharedClusters:
    """The clusters that this process has joined, by brokers, application and instance id."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._joined: dict[_Key, _SharedCluster] = {}
        track(self)

    def join(self, config: TableConfig) -> Cluster:
        """Join for this table's topic; raises ConfigError if the process has already opened it."""
        with self._lock:
            shared = self._joined.get(_key(config))
            if shared is None:
                shared = _SharedCluster(_started(config))
                self._joined[_key(config)] = shared
            if config.topic in shared.topics:
                raise ConfigError(
                    f"{config.topic} is already open in this process",
                    hint="share that table between threads; a second one needs writes='direct' "
                    "and layout='replicated'",
                )
            shared.topics.add(config.topic)
            return shared.cluster

    def of(self, config: TableConfig) -> Cluster | None:
        """The cluster that this process has joined for the table's topic, if it has."""
        with self._lock:
            shared = self._joined.get(_key(config))
        return None if shared is None or config.topic not in shared.topics else shared.cluster

    def announce_restart(self, config: TableConfig) -> None:
        """Announce a restart of this process, if its configuration asks for that."""
        with self._lock:
            shared = self._joined.get(_key(config))
        if shared is not None and config.instance.restart_within_ms is not None:
            shared.cluster.announce_restart(config.instance.restart_within_ms)

    def leave(self, config: TableConfig) -> None:
        """Leave for this topic; the last topic to leave ends the membership."""
        with self._lock:
            shared = self._joined.get(_key(config))
            if shared is None:
                return
            shared.topics.discard(config.topic)
            if not shared.topics:
                del self._joined[_key(config)]
                shared.cluster.close()

    def samples(self) -> Iterator[Sample]:
        """The figures of every membership, labeled with its application."""
        with self._lock:
            clusters = [shared.cluster for shared in self._joined.values()]
        for cluster in clusters:
            yield from cluster.metrics.samples()

    def after_fork(self) -> None:
        """Forget the memberships in a forked child: they belong to the parent."""
        self._joined = {}
        self._lock = threading.Lock()


SHARED_CLUSTERS = SharedClusters()


def _key(config: TableConfig) -> _Key:
    instance_id = config.instance.instance_id
    return config.connection.bootstrap_servers, config.application_id, instance_id


def _started(config: TableConfig) -> Cluster:
    instance = config.instance
    cluster = Cluster(
        config.connection,
        config.application_id,
        instance_id=instance.instance_id,
        peer=instance.peer,
        traits=Traits(
            instance.guest, instance.rack, instance.weight, instance.restart_writes == "fail-over"
        ),
        limits=instance.limits,
        clock=config.clock,
        metrics=Metrics(application=config.application_id),
    )
    try:
        cluster.start()
    except BaseException:
        cluster.close()
        raise
    return cluster
