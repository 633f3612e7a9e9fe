"""Puts a table together: stores, follower, writer and queries, none of which knows the others."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from lastword.errors import ConfigError, StoreCorruptedError
from lastword.kafka.admin import Admin
from lastword.kafka.groups.names import table_group
from lastword.keyspace import Keyspace
from lastword.metrics import Metrics
from lastword.records import Header
from lastword.replicas.apply.record_filter import RecordFilter
from lastword.replicas.hooks import Hooks
from lastword.replicas.partition_follower import PartitionFollower
from lastword.replicas.replica_set import ReplicaSet
from lastword.replicas.restore_source import RestoreSource
from lastword.replicas.state_directory import StateDirectory
from lastword.replicas.tailer import Tailer
from lastword.replicas.versions.versioned_follower import VersionedFollower
from lastword.stores.base import Store
from lastword.stores.versioned import VersionedStore
from lastword.table.config import TableConfig
from lastword.table.decoder import Decoder
from lastword.topics.check import Finding, check_topic, require_fit
from lastword.writer.instance_fence import InstanceFence
from lastword.writer.writer import Writer

log = logging.getLogger(__name__)

OWNER_HEADER = "lastword-owner"


@dataclass(frozen=True)
class Parts:
    """Everything an open table holds; ``close`` frees it in the right order."""

    admin: Admin
    decoder: Decoder
    record_filter: RecordFilter
    stores: Sequence[Store]
    directory: StateDirectory
    tailer: Tailer
    replicas: ReplicaSet
    writer: Writer
    fence: InstanceFence | None

    def close(self) -> None:
        """Stop writing, following and storing; idempotent."""
        self.writer.close()
        self.tailer.close()
        for store in self.stores:
            store.close()
        self.directory.release()
        self.admin.close()


def assemble(config: TableConfig, metrics: Metrics, hooks: Hooks) -> Parts:
    """Check the topic, lock and open the stores, and wire the parts; nothing runs yet."""
    with ExitStack() as undo:
        admin = undo.enter_context(Admin(config.connection, clock=config.clock))
        undo.callback(config.directory.release)
        partitions = admin.describe(config.topic).partitions
        findings = check_topic(admin, config.topic, allow_expiry=config.allow_expiry)
        require_fit(config.topic, findings)
        _warn(config.topic, findings)
        batch_bytes = int(admin.settings(config.topic)["max.message.bytes"])
        stores = [_open_store(config, p, undo) for p in range(partitions)]
        undo.pop_all()
    decoder = config.decoder
    owner = _owner(config, stores)
    fence = None if owner is None else InstanceFence(config.topic, config.clock)
    keyspace = Keyspace(partitions, decoder.key.suffix_bytes)
    record_filter = RecordFilter(keyspace, decoder.validator(), owner)
    tailer = Tailer(
        config.connection,
        config.topic,
        {p: _follower(p, store, record_filter, config) for p, store in enumerate(stores)},
        admin=admin,
        clock=config.clock,
        metrics=metrics,
        group_id=table_group(config.application_id),
        hooks=hooks,
        source=_restore_source(config, stores),
    )
    replicas = ReplicaSet(tailer)
    writer = Writer(
        config.connection,
        config.topic,
        keyspace=keyspace,
        batch_bytes=batch_bytes,
        wait_for=replicas.wait_for,
        owner=owner,
        fence=fence,
    )
    return Parts(
        admin, decoder, record_filter, stores, config.directory, tailer, replicas, writer, fence
    )


def _open_store(config: TableConfig, partition: int, undo: ExitStack) -> Store:
    path = config.directory.acquire(partition) if config.store.persistent else None
    store = _make_store(config, partition, path)
    try:
        store.open()
    except StoreCorruptedError as error:
        if path is None:
            raise
        # Nothing is lost: the topic has it all.
        log.warning("%s, partition %d is rebuilt: %s", config.topic, partition, error)
        shutil.rmtree(path)
        store = _make_store(config, partition, path)
        store.open()
    undo.callback(store.close)
    return store


def _make_store(config: TableConfig, partition: int, path: Path | None) -> Store:
    store = config.store(partition, path)
    if config.keep is None:
        return store
    if store.capabilities.capacity is not None:
        raise ConfigError(
            "a store that evicts keys cannot keep their versions",
            hint="use store='memory' or store='rocksdb' with versions=",
        )
    return VersionedStore(store)


def _follower(
    partition: int, store: Store, record_filter: RecordFilter, config: TableConfig
) -> PartitionFollower:
    if config.keep is not None and isinstance(store, VersionedStore):
        return VersionedFollower(partition, store, record_filter, config.clock, config.keep)
    return PartitionFollower(partition, store, record_filter, config.clock)


def _restore_source(config: TableConfig, stores: Sequence[Store]) -> RestoreSource | None:
    """Where empty stores are filled from; None where only the log will do."""
    if config.snapshots is None or not config.snapshots.may_hold_any:
        return None
    if config.decoder.policy == "quarantine":
        log.info("%s is restored from its log, which has the last good values", config.topic)
        return None
    if any(store.capabilities.capacity is not None for store in stores):
        log.info("%s is restored from its log, which has the order of use", config.topic)
        return None
    try:
        from lastword.snapshots.travel.source import SnapshotSource  # noqa: PLC0415 - loads deltalake
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"snapshots cannot be read: {error}", hint="pip install 'lastword[snapshots]'"
        ) from error
    return SnapshotSource(config.snapshots, config.decoder.key.suffix_bytes, config.clock)


def _owner(config: TableConfig, stores: Sequence[Store]) -> Header | None:
    """A store that evicts needs the topic to itself: its records are marked as its own."""
    if any(store.capabilities.capacity is not None for store in stores):
        return OWNER_HEADER, f"{config.application_id}/{config.name}".encode()
    return None


def _warn(topic: str, findings: Sequence[Finding]) -> None:
    for finding in findings:
        log.warning("%s: %s", topic, finding)
