"""Assembles a table from stores, follower, writer and queries, which do not know each other."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from lastword.errors import ConfigError
from lastword.kafka.admin import Admin
from lastword.kafka.groups.names import table_group
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.kafka.log.source import LogSource
from lastword.keyspace import Keyspace
from lastword.metrics import Metrics
from lastword.records import SOLE_WRITER_HEADER, Header
from lastword.replicas.apply.record_filter import RecordFilter
from lastword.replicas.hooks import Hooks
from lastword.replicas.partition_follower import PartitionFollower
from lastword.replicas.replica import Replica
from lastword.replicas.replica_set import ReplicaSet
from lastword.replicas.restore_source import RestoreSource
from lastword.replicas.tail.following import Following
from lastword.replicas.versions.version_recorder import KeptVersions
from lastword.stores.base import Store
from lastword.stores.versioned import VersionedStore
from lastword.table.decoder import Decoder
from lastword.table.partition_stores import TableStores
from lastword.table.partitioned.shared_partitions import SharedPartitions
from lastword.table.table_config import TableConfig
from lastword.table.writing.shared_clusters import SHARED_CLUSTERS
from lastword.table.writing.writers import Writers, make_writers
from lastword.topics.check import Finding, check_topic, require_fit

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Parts:
    """Everything an open table holds; ``close`` frees it in the right order."""

    admin: Admin
    log_source: LogSource
    decoder: Decoder
    record_filter: RecordFilter
    replicas: ReplicaSet
    writers: Writers
    shared: SharedPartitions | None = None

    def start(self) -> None:
        """Follow the topic, and offer to own its partitions where instances share them."""
        self.replicas.start()
        self.writers.open()
        if self.shared is not None:
            self.shared.open()

    def close(self) -> None:
        """Stop writing, following and storing; idempotent."""
        SHARED_CLUSTERS.announce_restart(self.writers.config)
        self.writers.close()
        if self.shared is not None:
            self.shared.close()
        self.replicas.close()
        self.admin.close()


def assemble(config: TableConfig, metrics: Metrics, hooks: Hooks) -> Parts:
    """Check the topic, lock and open the stores, and wire the parts; nothing runs yet."""
    decoder = config.decoder
    with ExitStack() as undo:
        admin = undo.enter_context(Admin(config.connection, clock=config.clock))
        partitions = admin.describe(config.topic).partitions
        findings = check_topic(admin, config.topic, allow_expiry=config.allow_expiry)
        require_fit(config.topic, findings)
        _warn(config.topic, findings)
        batch_bytes = int(admin.settings(config.topic)["max.message.bytes"])
        stores = TableStores(config)
        held = _held_at_first(config, partitions)
        opened = {}
        for partition in held:
            opened[partition] = store = stores.open(partition)
            undo.callback(stores.close, partition, store)
        evicts = _evicts(config, opened)
        mark = _sole_writer_mark(config) if evicts else None
        keyspace = Keyspace(partitions, decoder.key.suffix_bytes)
        owned = config.writes == "owned"
        record_filter = RecordFilter(keyspace, decoder.validator(), mark, owned=owned)
        log_source = KafkaLog(config.connection)
        following = Following(
            config.connection,
            log_source,
            config.topic,
            admin=admin,
            clock=config.clock,
            metrics=metrics,
            group_id=table_group(config.application_id),
            hooks=hooks,
            source=_restore_source(config, evicts=evicts),
        )
        undo.pop_all()

    def replica(partition: int, store: Store) -> Replica:
        return Replica(config.topic, _follower(partition, store, record_filter, config))

    replicas = ReplicaSet(following, stores, replica, opened)
    shared = None
    try:
        if config.layout == "partitioned":
            _refuse_eviction(config, evicts=evicts)
            shared = SharedPartitions(config, replicas, admin, partitions, metrics)
        writers = make_writers(
            config,
            replicas,
            keyspace,
            source=log_source,
            batch_bytes=batch_bytes,
            mark=mark,
            shared=shared,
        )
    except BaseException:
        if shared is not None:
            shared.close()
        replicas.close()
        admin.close()
        raise
    return Parts(admin, log_source, decoder, record_filter, replicas, writers, shared)


def _held_at_first(config: TableConfig, partitions: int) -> Collection[int]:
    """The partitions to hold from the beginning; the plan names those of a partitioned table."""
    if config.layout == "partitioned":
        return ()
    return range(partitions) if config.partitions is None else sorted(config.partitions)


def _refuse_eviction(config: TableConfig, *, evicts: bool) -> None:
    if evicts:
        raise ConfigError(
            f"{config.topic}: a store that evicts keys cannot be shared by instances",
            hint="use store='memory' or store='rocksdb' with layout='partitioned'",
        )


def _follower(
    partition: int, store: Store, record_filter: RecordFilter, config: TableConfig
) -> PartitionFollower:
    recorder = None
    if config.keep is not None and isinstance(store, VersionedStore):
        recorder = KeptVersions(store, record_filter, config.keep, config.clock)
    return PartitionFollower(partition, store, record_filter, config.clock, recorder)


def _restore_source(config: TableConfig, *, evicts: bool) -> RestoreSource | None:
    """The source that fills empty stores; None if only the log can."""
    if config.snapshots is None or not config.snapshots.may_hold_any:
        return None
    if config.decoder.policy == "quarantine":
        log.info("%s is restored from its log, which has the last good values", config.topic)
        return None
    if evicts:
        log.info("%s is restored from its log, which has the order of use", config.topic)
        return None
    try:
        from lastword.snapshots.travel.snapshot_source import SnapshotSource  # noqa: PLC0415 - loads deltalake
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"snapshots cannot be read: {error}", hint="pip install 'lastword[snapshots]'"
        ) from error
    return SnapshotSource(config.snapshots, config.decoder.key.suffix_bytes, config.clock)


def _evicts(config: TableConfig, opened: Mapping[int, Store]) -> bool:
    """Whether the stores of this table have a capacity; a closed store can tell, too."""
    stores = opened.values() or [config.store(0, config.directory.store_path(0))]
    return any(store.capabilities.capacity is not None for store in stores)


def _sole_writer_mark(config: TableConfig) -> Header:
    """The mark of a table that evicts: it must be the only writer of its topic."""
    return SOLE_WRITER_HEADER, f"{config.application_id}/{config.name}".encode()


def _warn(topic: str, findings: Sequence[Finding]) -> None:
    for finding in findings:
        log.warning("%s: %s", topic, finding)
