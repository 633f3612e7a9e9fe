"""Passes batches to stores, watchers and counters."""

from __future__ import annotations

from lastword.clock import Clock
from lastword.kafka.log.source import EndOfLog, Unreadable
from lastword.metrics import Metrics
from lastword.records import Batch
from lastword.replicas.apply.dropped_records import DroppedRecords
from lastword.replicas.held import HeldReplicas
from lastword.replicas.hooks import Hooks
from lastword.replicas.partition_follower import PartitionFollower
from lastword.replicas.replica import Replica
from lastword.replicas.sweep.dead_rows import Doomed
from lastword.replicas.topic.blocked_ends import BlockedEnds
from lastword.replicas.topic.stuck_reads import StuckReads
from lastword.replicas.topic.troubles import Troubles
from lastword.replicas.watch.feed import Dropped


class Intake:
    """Applies batches to replicas, under the lock of each. On the tailing thread.

    News of a partition whose log is not being read, because it has just left, is ignored.
    """

    def __init__(
        self,
        held: HeldReplicas,
        *,
        blocked: BlockedEnds,
        stuck: StuckReads,
        troubles: Troubles,
        hooks: Hooks,
        clock: Clock,
        metrics: Metrics,
    ) -> None:
        self._held = held
        self._blocked = blocked
        self._stuck = stuck
        self._troubles = troubles
        self._hooks = hooks
        self._clock = clock
        self._dropped = DroppedRecords(held.topic, metrics)
        self._count_applied = metrics.counter("records_applied_total")
        self._count_swept = metrics.counter("swept_keys_total")

    def accept(self, batch: Batch) -> None:
        """Apply a batch, or gather it while a restore builds a large one."""
        replica = self._followed(batch.partition)
        if replica is None:
            return
        follower, capabilities = replica.follower, replica.store.capabilities
        budget = 0 if follower.live else capabilities.restore_batch_bytes
        live = follower.live
        with replica.lock:
            filtered = follower.accept(batch, gather=budget > 0)
            if replica.ready:
                self._held.publish(batch)
                if capabilities.capacity is not None:
                    self._hooks.keep_to_capacity(replica, batch)
        if budget:
            self._commit_largest(budget)
        replica.records += len(batch)
        self._blocked.discard(batch.partition)
        self._troubles.on_read(batch.partition)
        self._count_applied.add(len(batch))
        self._dropped.count(batch, filtered, live=live)
        if not follower.live and self._hooks.listener is not None:
            self._hooks.listener.on_batch(
                replica.topic, batch.partition, follower.offsets.next_offset, len(batch)
            )
        self._held.moved()

    def polled(self, *, idle: bool) -> None:
        """The reader was asked; ``idle`` if it waited and nothing came."""
        self._stuck.on_poll(idle=idle)
        if idle:
            self._blocked.on_idle()

    def unreadable(self, bad: Unreadable) -> None:
        """The reader met a corrupt batch."""
        self._troubles.on_unreadable(bad)

    def end_of_log(self, end: EndOfLog) -> None:
        """Everything before the end was read; the last offsets may be transaction markers."""
        replica = self._followed(end.partition)
        if replica is None:
            return
        follower = replica.follower
        with replica.lock:
            follower.advance(end.offset, end.leader_epoch)
        if not follower.live and not follower.offsets.finished:
            self._blocked.add(end.partition, self._clock.now_ms())
        self._held.moved()

    def drop(self, follower: PartitionFollower, doomed: Doomed) -> int:
        """Remove rows that a sweep found dead; return how many."""
        replica = self._followed(follower.partition)
        if replica is None:
            return 0
        with replica.lock:
            dropped = follower.drop(doomed)
            if dropped and replica.ready:
                self._held.publish(Dropped(replica.partition, dropped))
        self._count_swept.add(len(dropped))
        return len(dropped)

    def _followed(self, partition: int) -> Replica | None:
        replica = self._held.now.get(partition)
        return replica if replica is not None and replica.following else None

    def _commit_largest(self, budget: int) -> None:
        """Keep the gathered rows of all replicas together within the store's batch size."""
        followed = self._held.followed()
        if sum(each.follower.gathered.size_bytes for each in followed) >= budget:
            largest = max(followed, key=lambda each: each.follower.gathered.size_bytes)
            with largest.lock:
                largest.follower.commit()
