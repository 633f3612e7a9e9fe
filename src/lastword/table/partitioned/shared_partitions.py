"""Puts together what a partitioned table has beyond a replicated one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from lastword.kafka.admin import Admin
from lastword.metrics import Metrics
from lastword.replicas.replica_set import ReplicaSet
from lastword.table.partitioned.fresh_as_of import FreshAsOf
from lastword.table.partitioned.messages import question_name
from lastword.table.partitioned.own_writes import OwnWrites
from lastword.table.partitioned.placed_members import PlacedMembers
from lastword.table.partitioned.placement import Placement
from lastword.table.partitioned.read_router import ReadRouter
from lastword.table.partitioned.read_server import ReadServer
from lastword.table.partitioned.routed_table import RoutedTable
from lastword.table.serving import Serving
from lastword.table.table_config import TableConfig
from lastword.table.version_reads import LocalVersions
from lastword.table.writing.shared_clusters import SHARED_CLUSTERS


class SharedPartitions:
    """The part of one table in the cluster: placement, routed reads, and what was written here.

    Joins the other instances when it is made; that takes a moment, and holds nothing yet.
    """

    def __init__(
        self,
        config: TableConfig,
        replicas: ReplicaSet,
        admin: Admin,
        partitions: int,
        metrics: Metrics,
    ) -> None:
        self._config, self._replicas, self._metrics = config, replicas, metrics
        self._fresh = fresh = FreshAsOf(replicas, admin, config.clock)
        metrics.gauge("copy_age_seconds", fresh.oldest_age_s)
        self._placement = Placement(
            config.topic,
            partitions,
            SHARED_CLUSTERS.join(config),
            replicas,
            fresh=self._fresh,
            standbys=config.standbys,
            leave=lambda: SHARED_CLUSTERS.leave(config),
        )
        self._router: ReadRouter | None = None
        self.members = PlacedMembers(self._placement, metrics)
        self.written = OwnWrites(replicas)

    @property
    def placed(self) -> bool:
        """Whether everything that the first plan gave to this instance has come."""
        return self._placement.placed

    def routed(
        self, serving: Serving, versions: LocalVersions | None, on_placed: Callable[[], None]
    ) -> partial[RoutedTable]:
        """Makes the core of the table; ``on_placed`` is as in Placement.

        ``versions`` has those that are kept here, if the table keeps any.
        """
        config, clock = self._config, self._config.clock
        instance_id = self._placement.cluster.instance_id
        server = ReadServer(
            instance_id,
            self._replicas,
            serving,
            self._fresh,
            clock=clock,
            metrics=self._metrics,
            versions=versions,
        )
        self.members.handle(question_name(config.topic), server.answer_peer)
        self._placement.on_placed = on_placed
        self._router = router = ReadRouter(
            config.topic,
            self.members,
            self._placement.assignment,
            server,
            clock=clock,
            metrics=self._metrics,
        )
        return partial(
            RoutedTable,
            placement=self._placement,
            router=router,
            written=self.written,
            routing=config.routing,
        )

    def open(self) -> None:
        """Offer the partitions and follow the plan; returns at once."""
        self._placement.open()

    def close(self) -> None:
        """Leave the other instances; idempotent."""
        if self._router is not None:
            self._router.close()
        self._placement.close()
