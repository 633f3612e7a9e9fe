"""Reacts to a new topic state: another log, another end, replicas that must restart."""

from __future__ import annotations

import logging
from collections.abc import Callable

from lastword.kafka.log.source import LogReader, PositionLost
from lastword.replicas.apply.rebuild_reason import refuse_other_partitions
from lastword.replicas.held import HeldReplicas
from lastword.replicas.replica import Replica
from lastword.replicas.sweep.schedule import SweepSchedule
from lastword.replicas.tail.readiness import Readiness
from lastword.replicas.tail.replica_starter import ReplicaStarter
from lastword.replicas.topic.blocked_ends import BlockedEnds
from lastword.replicas.topic.stuck_reads import StuckReads
from lastword.replicas.topic.topic_state import TopicState
from lastword.replicas.topic.troubles import Troubles

log = logging.getLogger(__name__)

_AGAIN = "watch again once the table is ready"


class TopicReaction:
    """Keeps the last topic state and acts on each new one. On the tailing thread."""

    def __init__(
        self,
        held: HeldReplicas,
        reader: LogReader,
        starter: ReplicaStarter,
        readiness: Readiness,
        *,
        sweeps: SweepSchedule,
        blocked: BlockedEnds,
        stuck: StuckReads,
        troubles: Troubles,
    ) -> None:
        self._held = held
        self._reader = reader
        self._starter = starter
        self._readiness = readiness
        self._sweeps = sweeps
        self._blocked = blocked
        self._stuck = stuck
        self._troubles = troubles
        self._topic_state: TopicState | None = None
        self._lost: dict[int, str] = {}

    @property
    def topic_state(self) -> TopicState:
        """The last topic state."""
        if self._topic_state is None:
            raise RuntimeError("the replica set has not been started")
        return self._topic_state

    def begin_all(
        self, topic_state: TopicState, begin: Callable[[Replica, TopicState], None]
    ) -> None:
        """Begin every replica with the log of ``topic_state``."""
        self._topic_state = topic_state
        self._lost.clear()
        for replica in self._held.now.values():
            begin(replica, topic_state)

    def gain(self, replica: Replica) -> None:
        """Add a replica and begin it."""
        replica.gained = True
        replica.follower.topic_gone = self._troubles.topic_gone
        self._held.add(replica)
        self._readiness.tell()
        self._starter.begin(replica, self.topic_state)

    def lose(self, replica: Replica) -> None:
        """Stop following it; readers, watchers and waiters get an error."""
        self._starter.release(replica)
        self._lost.pop(replica.partition, None)
        self._held.remove(replica)
        self._troubles.on_read(replica.partition)  # the trouble no longer matters
        self._held.moved()
        self._readiness.tell()

    def position_lost(self, lost: PositionLost) -> None:
        """Rebuild as soon as the monitor has asked again: the ends have changed too."""
        replica = self._held.now.get(lost.partition)
        if replica is None:
            return
        place = (replica.topic, lost.partition, lost.reason)
        log.warning("%s, partition %d: %s: rebuilding", *place)
        replica.following = False  # the reader has released it already
        self._starter.release(replica)
        self._lost[lost.partition] = lost.reason
        self._readiness.withdraw(replica)
        self._held.feed.break_off(
            f"the log of {replica.topic} changed under the table: {lost.reason}", _AGAIN
        )

    def on_topic_state(self, topic_state: TopicState | None, *, topic_gone: bool) -> None:
        """A new topic state; None if the cluster did not answer."""
        self._troubles.on_topic_state(topic_state, topic_gone=topic_gone)
        for replica in self._held.now.values():
            replica.follower.topic_gone = topic_gone
        for replica in self._held.followed():
            replica.follower.check_lag()
        if topic_state is not None:
            refuse_other_partitions(self._held.topic, self.topic_state, topic_state)
            if topic_state.topic_id != self.topic_state.topic_id:
                self._begin_again(topic_state)
                return
            self._topic_state = topic_state
            self._take_in(topic_state)
        for replica in self._held.followed():
            self._sweeps.consider(replica.follower, self.topic_state, first=False)

    def _take_in(self, topic_state: TopicState) -> None:
        for partition in self._lost.keys() - topic_state.unanswered:
            reason = self._lost.pop(partition)
            self._starter.begin(self._held.now[partition], topic_state, lost=reason)
        for replica in self._held.followed():
            with replica.lock:
                replica.follower.on_topic_state(topic_state)
        followers = {each.partition: each.follower for each in self._held.followed()}
        self._blocked.on_topic_state(topic_state, followers, self._reader)
        unblocked = {p: each for p, each in followers.items() if p not in self._blocked}
        self._stuck.on_topic_state(topic_state, unblocked, self._reader, self._troubles)

    def _begin_again(self, topic_state: TopicState) -> None:
        topic = self._held.topic
        log.warning("%s was deleted and created again: rebuilding", topic)
        for replica in self._held.now.values():
            self._readiness.withdraw(replica)
        self._held.feed.break_off(f"{topic} was deleted and created again", _AGAIN)
        self.begin_all(topic_state, self._starter.begin)
