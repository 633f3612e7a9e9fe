"""The thread that follows a topic: the only one that ever writes a store."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Mapping

from lastword.clock import Clock
from lastword.errors import NotUpToPositionError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.groups.position_publisher import PositionPublisher
from lastword.kafka.log.reader import EndOfLog, LogReader, PlaceLost, Unreadable
from lastword.metrics import Metrics
from lastword.records import Batch, Position
from lastword.replicas.apply.dropped_records import LeftOut
from lastword.replicas.apply.rebuild_reason import refuse_other_partitions
from lastword.replicas.hooks import Hooks
from lastword.replicas.partition_follower import PartitionFollower, StartPoint
from lastword.replicas.partition_views import position_of
from lastword.replicas.progress import RestoreProgress, progress_of
from lastword.replicas.restore_source import RestoreSource, fill
from lastword.replicas.sweep.schedule import SweepSchedule
from lastword.replicas.topic.blocked_ends import BlockedEnds
from lastword.replicas.topic.monitor import TopicMonitor
from lastword.replicas.topic.topic_state import TopicState, read_topic_state
from lastword.replicas.topic.troubles import Troubles
from lastword.replicas.watch.feed import Dropped, Feed

log = logging.getLogger(__name__)

POLL_S = 0.1
HOUSEKEEPING_S = 10.0


class Tailer:
    """Brings the followers to the captured end, keeps them live, rebuilds and sweeps them.

    ``lock`` is held while a batch is applied and published: hold it to see several partitions,
    or a position and the feed, as of one moment.
    """

    def __init__(
        self,
        connection: Connection,
        topic: str,
        followers: Mapping[int, PartitionFollower],
        *,
        admin: Admin,
        clock: Clock,
        metrics: Metrics,
        group_id: str,
        hooks: Hooks,
        source: RestoreSource | None = None,
    ) -> None:
        self.topic = topic
        self.followers = followers
        self.feed = Feed()
        self.lock = threading.Lock()
        self._admin = admin
        self._clock = clock
        self._hooks = hooks
        self._source = source
        self._reader = LogReader(connection, topic)
        self._inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._monitor = TopicMonitor(admin, topic, clock, self._post_topic_state)
        self.looks = self._monitor.looks
        self._publisher = PositionPublisher(connection, topic, group_id)
        self._sweeps = SweepSchedule(
            connection,
            topic,
            clock=clock,
            post=self._inbox.put,
            drop=self._drop,
            end_of=self._stable_end,
        )
        self._topic_state: TopicState | None = None
        self._records = dict.fromkeys(followers, 0)
        self._blocked = BlockedEnds()
        self.troubles = Troubles(topic, followers, clock)
        self._lost: dict[int, str] = {}
        self._ready = False
        self._stopping = threading.Event()
        self._ended = False
        self._moved = threading.Condition()
        self._housekeeping_at = 0.0
        self._thread = threading.Thread(target=self._run, name=f"tailer-{topic}", daemon=True)
        self._count_applied = metrics.counter("records_applied_total")
        self._left_out = LeftOut(topic, metrics)
        self._count_swept = metrics.counter("swept_keys_total")
        self._count_rebuilds = metrics.counter("rebuilds_total")

    def start(self) -> None:
        """Look at the topic, begin each partition, and follow in the background."""
        self._topic_state = topic_state = read_topic_state(
            self._admin, self.topic, self._clock.now_ms()
        )
        self.looks.note(topic_state, self._clock.now_ms())
        if self._source is None:
            self._begin_all(topic_state)
        else:  # which may take seconds
            self._inbox.put(lambda: self._begin_all(topic_state))
        self._thread.start()
        self._monitor.start(topic_state)
        self._sweeps.start()

    def close(self) -> None:
        """Stop following; idempotent. The stores stay open."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        self._monitor.stop()
        self._sweeps.stop()
        if self._thread.ident is not None:
            self._thread.join()
        self._reader.close()
        self._publisher.close()
        self.feed.break_off("the table was closed", "open it again to go on watching")

    @property
    def ready(self) -> bool:
        """Whether every partition has reached its captured end and was swept where due."""
        return self._ready

    @property
    def topic_state(self) -> TopicState:
        """The last look at the topic."""
        if self._topic_state is None:
            raise RuntimeError("the tailer has not been started")
        return self._topic_state

    def position(self) -> Position:
        """What reads reflect now."""
        return position_of(self.followers, self.topic_state.topic_id)

    def progress(self) -> list[RestoreProgress]:
        """How far each partition has come on its way to the captured end."""
        return [
            progress_of(follower, self._records[p], p in self._blocked, self._sweeps.progress(p))
            for p, follower in self.followers.items()
        ]

    def lag(self) -> dict[int, int]:
        """Offsets between what was read and the end of the log at the last look."""
        ends = self.topic_state.ends
        return {p: max(0, ends.get(p, 0) - f.gathered) for p, f in self.followers.items()}

    def wait_for(self, position: Position, timeout_s: float) -> None:
        """Wait until reads reflect ``position``; raises NotUpToPositionError after the timeout."""
        with self._moved:
            reached = self._moved.wait_for(
                lambda: self._ended or self.position().at_least(position), timeout_s
            )
        now = self.position()
        if not reached or not now.at_least(position):
            raise NotUpToPositionError(
                f"{self.topic} is at {now}, not yet at {position}",
                reached=now.offsets,
                hint="try again in a moment, or ask with a longer timeout",
            )

    # -- the tailing thread ----------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._turn()
        except Exception as error:  # a thread's last word: the table must know why
            log.exception("following %s failed", self.topic)
            self._hooks.on_failure(error)
        finally:
            self._ended = True
            self._notify()

    def _turn(self) -> None:
        while not self._inbox.empty():
            self._inbox.get()()
        news = self._reader.poll(POLL_S)
        if not news:
            self._blocked.note_idle()
        for item in news:
            if isinstance(item, Batch):
                self._accept(item)
            elif isinstance(item, EndOfLog):
                self._end_of_log(item)
            elif isinstance(item, Unreadable):
                self.troubles.note_unreadable(item)
            else:
                self._place_lost(item)
        self._sweeps.check()
        if not self._ready:
            self._finish_restores()
        if self._clock.monotonic() >= self._housekeeping_at:
            self._housekeep()

    def _accept(self, batch: Batch) -> None:
        follower = self.followers[batch.partition]
        budget = follower.store.capabilities.restore_batch_bytes
        with self.lock:
            filtered = follower.accept(batch, gather=budget > 0 and not follower.live)
            if follower.live and len(self.feed):
                self.feed.publish(batch, self.position().complete_at_ms)
            if self._ready and follower.store.capabilities.capacity is not None:
                self._hooks.keep_to_capacity(batch, follower.store)
            if budget and not follower.live:
                self._commit_largest(budget)
        self._records[batch.partition] += len(batch)
        self._blocked.discard(batch.partition)
        self.troubles.note_read(batch.partition)
        self._count_applied.add(len(batch))
        self._left_out.note(batch, filtered)
        if not follower.live and self._hooks.listener is not None:
            self._hooks.listener.on_batch(
                self.topic, batch.partition, follower.gathered, len(batch)
            )
        self._notify()

    def _commit_largest(self, budget: int) -> None:
        """Keep what all partitions have gathered together within the store's batch size."""
        if sum(f.gathered_bytes for f in self.followers.values()) >= budget:
            max(self.followers.values(), key=lambda f: f.gathered_bytes).commit()

    def _end_of_log(self, end: EndOfLog) -> None:
        follower = self.followers[end.partition]
        follower.advance(end.offset, end.leader_epoch)
        if not follower.live and not follower.finished:
            self._blocked.add(end.partition, self._clock.now_ms())
        self._notify()

    def _finish_restores(self) -> None:
        for partition, follower in self.followers.items():
            if not follower.live and follower.finished:
                with self.lock:
                    follower.go_live()
                self._blocked.discard(partition)
                self._sweeps.consider(follower, self.topic_state, first=True)
                if self._hooks.listener is not None:
                    self._hooks.listener.on_end(self.topic, partition, self._records[partition])
                self._notify()
        pending = self._lost or self._sweeps.first_pending
        if not pending and all(f.live for f in self.followers.values()):
            self._set_ready(True)

    def _set_ready(self, ready: bool) -> None:
        if ready != self._ready:
            self._ready = ready
            self._hooks.on_ready(ready)

    def _notify(self) -> None:
        with self._moved:
            self._moved.notify_all()

    def _housekeep(self) -> None:
        """Keep checkpoints young and lag tools informed."""
        self._housekeeping_at = self._clock.monotonic() + HOUSEKEEPING_S
        live = {p: f for p, f in self.followers.items() if f.live}
        for follower in live.values():
            with self.lock:
                follower.refresh_checkpoint()
        if live:
            self._publisher.publish({p: f.position for p, f in live.items()})

    # -- what the monitor sees ---------------------------------------------------------------

    def _post_topic_state(self, topic_state: TopicState | None) -> None:
        self._inbox.put(lambda: self._note_topic_state(topic_state))

    def _note_topic_state(self, topic_state: TopicState | None) -> None:
        self.troubles.note_look(topic_state, topic_gone=self._monitor.topic_gone)
        for follower in self.followers.values():
            follower.check_lag()
        if topic_state is not None:
            refuse_other_partitions(self.topic, self.topic_state, topic_state)
            if topic_state.topic_id != self.topic_state.topic_id:
                self._begin_again(topic_state)
                return
            self._topic_state = topic_state
            for partition in self._lost.keys() - topic_state.unanswered:
                self._begin(partition, lost=self._lost.pop(partition))
            for follower in self.followers.values():
                follower.note_topic_state(topic_state)
            self._blocked.note_look(topic_state, self.followers, self._reader)
        for follower in self.followers.values():
            self._sweeps.consider(follower, self.topic_state, first=False)

    def _begin_again(self, topic_state: TopicState) -> None:
        log.warning("%s was deleted and created again: rebuilding", self.topic)
        self._set_ready(False)
        for partition in self.followers:
            if partition not in self._lost:
                self._reader.release(partition)
        self._lost.clear()
        self.feed.break_off(
            f"{self.topic} was deleted and created again", "watch again once the table is ready"
        )
        self._begin_all(topic_state)

    def _begin_all(self, topic_state: TopicState) -> None:
        self._topic_state = topic_state
        for partition in self.followers:
            self._begin(partition)

    def _begin(self, partition: int, *, lost: str | None = None) -> None:
        self._set_ready(False)
        follower, topic_state = self.followers[partition], self.topic_state
        self._records[partition] = 0
        with self.lock:
            start = follower.rebuild(topic_state, lost) if lost else follower.begin(topic_state)
        if start.from_scratch and not lost:
            start = self._filled(follower) or start
        if start.from_scratch:
            self._count_rebuilds.add()
        self._sweeps.forget(partition, start.offset if start.from_scratch else None)
        self._blocked.discard(partition)
        place = (self.topic, partition, start.offset, follower.target, start.reason)
        log.info("%s, partition %d: from offset %d to %d, %s", *place)
        if self._hooks.listener is not None:
            self._hooks.listener.on_start(self.topic, partition, start.offset, follower.target)
        self._reader.assign(partition, start.offset, start.leader_epoch)

    def _filled(self, follower: PartitionFollower) -> StartPoint | None:
        """Where to go on from if there was something faster than the log to start with."""
        if self._source is None:
            return None
        for rows in fill(follower, self.topic_state, self._source):
            self._records[follower.partition] += rows
            if self._stopping.is_set():
                return None
        return follower.begin(self.topic_state)

    def _place_lost(self, lost: PlaceLost) -> None:
        """Rebuild as soon as the monitor has looked again: the ends have changed too."""
        log.warning("%s, partition %d: %s: rebuilding", self.topic, lost.partition, lost.reason)
        self._lost[lost.partition] = lost.reason
        self._set_ready(False)
        self.feed.break_off(
            f"the log of {self.topic} changed under the table: {lost.reason}",
            "watch again once the table is ready",
        )

    # -- rows that are no longer in the log --------------------------------------------------

    def _stable_end(self, partition: int) -> int:
        return self._admin.stable_offsets(self.topic, [partition])[partition]

    def _drop(self, follower: PartitionFollower, doomed: list[tuple[bytes, int]]) -> int:
        with self.lock:
            dropped = follower.drop(doomed)
            if dropped and follower.live:
                at_ms = self.position().complete_at_ms
                self.feed.publish(Dropped(follower.partition, dropped), at_ms)
        self._count_swept.add(len(dropped))
        return len(dropped)
