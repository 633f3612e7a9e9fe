"""How a replica begins: its store is prepared, then its log is read from where the store ends.

Preparing may take long: a store is emptied, or filled from a snapshot. It runs on another thread,
so that live replicas continue. Until it is done, the tailing thread does not use the follower.
"""

from __future__ import annotations

import logging

from lastword.kafka.log.source import LogReader
from lastword.metrics import Metrics
from lastword.replicas.partition_follower import StartPoint
from lastword.replicas.progress import RestoreListener
from lastword.replicas.replica import Replica
from lastword.replicas.restore_source import RestoreSource, fill
from lastword.replicas.sweep.schedule import SweepSchedule
from lastword.replicas.tail.inbox import Post
from lastword.replicas.tail.step_thread import StepThread
from lastword.replicas.topic.blocked_ends import BlockedEnds
from lastword.replicas.topic.topic_state import TopicState

log = logging.getLogger(__name__)


class ReplicaStarter:
    """Begins replicas; on the tailing thread, except where it says otherwise."""

    def __init__(
        self,
        reader: LogReader,
        post: Post,
        sweeps: SweepSchedule,
        blocked: BlockedEnds,
        *,
        source: RestoreSource | None,
        listener: RestoreListener | None,
        metrics: Metrics,
    ) -> None:
        self._reader = reader
        self._post = post
        self._sweeps = sweeps
        self._blocked = blocked
        self._source = source
        self._listener = listener
        self._count_rebuilds = metrics.counter("rebuilds_total")
        self._thread = StepThread("store-preparation")

    @property
    def may_take_long(self) -> bool:
        """Whether there is something to fill empty stores from."""
        return self._source is not None

    def start(self) -> None:
        """Start the thread that begins replicas in the background."""
        self._thread.start()

    def stop(self) -> None:
        """Abort the current preparation between two chunks, and wait for it to end."""
        self._thread.stop()

    def begin(self, replica: Replica, topic_state: TopicState, lost: str | None = None) -> None:
        """Prepare the store in the background, then read its log.

        With ``lost``, the reason why its position in the log was lost, from an empty store.
        """
        attempt = self._attempt(replica)

        def prepare() -> None:
            with replica.preparing:
                if not self._is_current(replica, attempt):
                    return
                try:
                    start = self._prepared(replica, topic_state, lost, attempt)
                except Exception as error:  # noqa: BLE001 - the next one needs this thread
                    self._post(lambda problem=error: self._fail(replica, problem))  # type: ignore[misc]
                    return
            self._post(lambda: self._read_on(replica, start, attempt))

        self._thread.submit(prepare)

    def begin_at_once(self, replica: Replica, topic_state: TopicState) -> None:
        """The same on the calling thread, before the tailing thread runs."""
        attempt = self._attempt(replica)
        self._read_on(replica, self._prepared(replica, topic_state, None, attempt), attempt)

    def release(self, replica: Replica) -> None:
        """Stop reading the log of a replica, if that has begun, and sweeping its store."""
        self._sweeps.forget(replica.partition)
        self._blocked.discard(replica.partition)
        if replica.following:
            replica.following = False
            self._reader.release(replica.partition)

    def _attempt(self, replica: Replica) -> int:
        self.release(replica)
        replica.start_attempts += 1
        return replica.start_attempts

    def _is_current(self, replica: Replica, attempt: int) -> bool:
        stopping = self._thread.stopping() or replica.lost
        return not stopping and replica.start_attempts == attempt

    def _prepared(
        self, replica: Replica, topic_state: TopicState, lost: str | None, attempt: int
    ) -> StartPoint:
        follower = replica.follower
        replica.records = 0
        with replica.lock:
            start = follower.rebuild(topic_state, lost) if lost else follower.begin(topic_state)
        if self._source is None or lost or not start.from_scratch:
            return start
        for rows in fill(follower, topic_state, self._source):
            replica.records += rows
            if not self._is_current(replica, attempt):
                return start
        with replica.lock:
            return follower.begin(topic_state)

    def _read_on(self, replica: Replica, start: StartPoint, attempt: int) -> None:
        if not self._is_current(replica, attempt):
            return
        if start.from_scratch:
            self._count_rebuilds.add()
        partition, target = replica.partition, replica.follower.offsets.target
        place = (replica.topic, partition, start.offset, target, start.reason)
        log.info("%s, partition %d: from offset %d to %d, %s", *place)
        if self._listener is not None:
            self._listener.on_start(replica.topic, partition, start.offset, target)
        self._sweeps.forget(partition, start.offset if start.from_scratch else None)
        self._blocked.discard(partition)
        self._reader.assign(partition, start.offset, start.leader_epoch)
        replica.following = True

    def _fail(self, replica: Replica, error: Exception) -> None:
        if not replica.lost:  # or the store was closed under it
            raise error
