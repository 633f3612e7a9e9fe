"""How the writes of a table reach its topic: directly, through owners, or as sole writer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lastword.codecs.split import split_of
from lastword.errors import ConfigError
from lastword.kafka.log.source import LogSource
from lastword.keyspace import Keyspace
from lastword.records import Header, Version
from lastword.replicas.replica_set import ReplicaSet
from lastword.table.partitioned.shared_partitions import SharedPartitions
from lastword.table.table_config import TableConfig
from lastword.table.writing.owned_topic import owned_topic
from lastword.table.writing.shared_clusters import SHARED_CLUSTERS
from lastword.table.writing.unread_writes import UnreadWrites
from lastword.writer.default_ttl import DefaultTtl
from lastword.writer.direct import WRITE_TIMEOUT_S, DirectWriter
from lastword.writer.id_headers import IdHeaders
from lastword.writer.instance_fence import InstanceFence
from lastword.writer.owned.owned_path import OwnedPath
from lastword.writer.owned.split_path import SplitPath
from lastword.writer.read_your_writes import APPLY_TIMEOUT_S, ReadYourWrites
from lastword.writer.sole_writer import SoleWriter
from lastword.writer.write_path import WritePath

Reflect = Callable[[Version], None]
"""(version) -> later reads of the table reflect that record."""


@dataclass(frozen=True)
class Writers:
    """The write paths of one table.

    ``path`` is the one that its writes use. ``sole_writer`` is set for a table that evicts keys,
    ``owned`` for a table whose writes are decided by owners. ``reflect`` has later reads reflect a
    write; ``unread`` has those that reads of the copy here wait for.
    """

    config: TableConfig
    path: WritePath
    sole_writer: SoleWriter | None
    owned: OwnedPath | None
    reflect: Reflect
    unread: UnreadWrites

    def open(self) -> None:
        """Offer to own partitions, if owners decide the writes."""
        if self.owned is not None:
            self.owned.open()

    def close(self) -> None:
        """Wait for writes in flight, and leave the cluster; idempotent."""
        self.path.close()
        if self.owned is not None and self.config.layout == "replicated":
            SHARED_CLUSTERS.leave(self.config)


def make_writers(
    config: TableConfig,
    replicas: ReplicaSet,
    keyspace: Keyspace,
    *,
    source: LogSource,
    batch_bytes: int,
    mark: Header | None,
    shared: SharedPartitions | None = None,
) -> Writers:
    """The write paths of a table.

    ``mark`` is the header of one that evicts keys; ``shared`` belongs to a partitioned one.

    Joins the cluster if owners decide the writes. That takes a moment; it owns nothing yet.
    """
    direct = DirectWriter(
        config.connection,
        config.topic,
        batch_bytes=batch_bytes,
        timeout_s=WRITE_TIMEOUT_S,
        keyspace=keyspace,
        clock=config.clock,
    )
    split = split_of(config.decoder.value)
    plain: WritePath = direct if split is None else IdHeaders(direct, split)
    below, owned = plain, None
    if config.writes != "direct":
        _refuse_eviction(config, mark)
        topic = owned_topic(config, replicas, keyspace, source, batch_bytes)
        owned = OwnedPath(topic, SHARED_CLUSTERS.join(config) if shared is None else shared.members)
        below = owned if config.writes == "owned" else SplitPath(plain, owned)
    unread = UnreadWrites(replicas, config.clock)
    written = unread if shared is None else shared.written
    # Without owners, a write itself waits until the copy here has applied it.
    wait_for = replicas.wait_for if owned is None and shared is None else written.note
    path: WritePath = ReadYourWrites(below, config.topic, wait_for, timeout_s=APPLY_TIMEOUT_S)
    sole_writer = None
    if mark is not None:
        fence = InstanceFence(config.topic, config.clock)
        path = sole_writer = SoleWriter(path, direct, mark, fence)
    if config.ttl_ms is not None:
        path = DefaultTtl(path, config.ttl_ms)
    return Writers(config, path, sole_writer, owned, written.reflect, unread)


def _refuse_eviction(config: TableConfig, mark: Header | None) -> None:
    if mark is not None:
        raise ConfigError(
            f"{config.topic}: a store that evicts keys is its topic's only writer, so its writes "
            "cannot be decided by owners",
            hint=f"use store='memory' or store='rocksdb' with writes={config.writes!r}",
        )
