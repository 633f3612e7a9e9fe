"""Everything that follows a topic except Kafka: a test hands over the news and takes the turns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from lastword.kafka.log.source import News
from lastword.keyspace import Keyspace
from lastword.metrics import Metrics
from lastword.records import Batch
from lastword.replicas.apply.record_filter import RecordFilter
from lastword.replicas.held import HeldReplicas
from lastword.replicas.hooks import Hooks
from lastword.replicas.partition_follower import PartitionFollower
from lastword.replicas.replica import Replica
from lastword.replicas.restore_source import RestoreSource
from lastword.replicas.sweep.schedule import SweepSchedule
from lastword.replicas.tail.inbox import Inbox
from lastword.replicas.tail.intake import Intake
from lastword.replicas.tail.readiness import Readiness
from lastword.replicas.tail.replica_starter import ReplicaStarter
from lastword.replicas.tail.tailer import Tailer
from lastword.replicas.topic.blocked_ends import BlockedEnds
from lastword.replicas.topic.reaction import TopicReaction
from lastword.replicas.topic.stuck_reads import StuckReads
from lastword.replicas.topic.topic_state import TopicState
from lastword.replicas.topic.troubles import Troubles
from lastword.stores.base import Capabilities
from lastword.stores.memory import MemoryStore
from lastword.testing import wait_until
from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.offline_topic import DAY_MS, Pair, batch_of
from tests.support.local_tables.written_log import WrittenLog
from tests.support.shared_tables.partial_tables import PARTITIONS


class HandMadeReader:
    """Returns what a test puts in, and records which partitions it had to read, and from where."""

    def __init__(self) -> None:
        self.news: deque[News] = deque()
        self.assigned: dict[int, int] = {}

    def assign(self, partition: int, offset: int, leader_epoch: int = -1) -> None:
        assert partition not in self.assigned
        self.assigned[partition] = offset

    def release(self, partition: int) -> None:
        del self.assigned[partition]

    def poll(self, _timeout_s: float) -> list[News]:
        news = list(self.news)
        self.news.clear()
        return news

    def close(self) -> None:
        pass


class GatheringStore(MemoryStore):
    """Asks for large batches while it is restored."""

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(restore_batch_bytes=1000)


class TailLab:
    """The parts of a following with a hand-made reader; ``turn`` is one round of the thread."""

    def __init__(
        self, clock: FakeClock, partitions: Collection[int], source: RestoreSource | None = None
    ) -> None:
        self.clock = clock
        self.reader = HandMadeReader()
        self.told: list[tuple[bool, bool]] = []
        self.failures: list[Exception] = []
        self.ended = False
        self.held = HeldReplicas("topic")
        self.inbox = Inbox("topic")
        self.metrics = Metrics(table="table")
        hooks = self._hooks()
        blocked, stuck = BlockedEnds(), StuckReads("topic")
        troubles = Troubles("topic", clock)
        self.intake = Intake(
            self.held,
            blocked=blocked,
            stuck=stuck,
            troubles=troubles,
            hooks=hooks,
            clock=clock,
            metrics=self.metrics,
        )
        self.sweeps = self._sweeps()
        self.starter = ReplicaStarter(
            self.reader,  # type: ignore[arg-type]
            self.inbox.post,
            self.sweeps,
            blocked,
            source=source,
            listener=None,
            metrics=self.metrics,
        )
        self.readiness = Readiness(
            self.held,
            self.sweeps,
            blocked,
            hooks,
            lambda partition: self.topic_state.ends[partition],
        )
        self.reaction = TopicReaction(
            self.held,
            self.reader,  # type: ignore[arg-type]
            self.starter,
            self.readiness,
            sweeps=self.sweeps,
            blocked=blocked,
            stuck=stuck,
            troubles=troubles,
        )
        self.tailer = self._tailer()
        self.topic_state = _empty_topic(clock.now_ms())
        for partition in partitions:
            self.held.add(self.replica(partition))

    def _sweeps(self) -> SweepSchedule:
        return SweepSchedule(
            WrittenLog(list),
            "topic",
            clock=self.clock,
            post=self.inbox.post,
            drop=self.intake.drop,
            end_of=lambda p: self.topic_state.stable_ends[p],
        )

    def _hooks(self) -> Hooks:
        return Hooks(
            lambda ready, gaining: self.told.append((ready, gaining)),
            self.failures.append,
            lambda _replica: None,
            lambda _replica, _batch: None,
        )

    def _tailer(self) -> Tailer:
        return Tailer(
            "topic",
            self.reader,  # type: ignore[arg-type]
            self.inbox,
            intake=self.intake,
            position_lost=self.reaction.position_lost,
            upkeep=(self.sweeps.check, lambda: self.readiness.check(self.reaction.topic_state)),
            on_failure=self.failures.append,
            on_end=lambda: setattr(self, "ended", True),
        )

    def replica(self, partition: int, store: MemoryStore | None = None) -> Replica:
        store = store or MemoryStore()
        store.open()
        follower = PartitionFollower(
            partition, store, RecordFilter(Keyspace(PARTITIONS)), self.clock
        )
        return Replica("topic", follower)

    def begin(self, ends: Mapping[int, int]) -> None:
        """As at the start of a table, with a log that ends there."""
        self.reaction.begin_all(self.state(ends), self.starter.begin_at_once)
        self.starter.start()

    def state(self, ends: Mapping[int, int] | None = None, **changes: object) -> TopicState:
        """The current state of the topic."""
        if ends is not None:
            all_ends = {**self.topic_state.ends, **ends}
            changes |= {"ends": all_ends, "stable_ends": all_ends}
        self.topic_state = replace(
            self.topic_state,
            at_ms=self.clock.now_ms(),
            **changes,  # type: ignore[arg-type]
        )
        return self.topic_state

    def observe(self, ends: Mapping[int, int] | None = None, **changes: object) -> None:
        self.reaction.on_topic_state(self.state(ends, **changes), topic_gone=False)

    def feed(self, partition: int, pairs: list[Pair], first: int = 0) -> Batch:
        """Hand over a batch and take the turn that applies it."""
        batch = batch_of(pairs, first, partition=partition)
        self.reader.news.append(batch)
        self.run_once()
        return batch

    def run_once(self) -> None:
        self.tailer.run_once()

    def run_until(self, done: Callable[[], object], what: str) -> None:
        """For what another thread prepares."""

        def ran() -> object:
            self.run_once()
            return done()

        wait_until(ran, what)

    def stop(self) -> None:
        self.starter.stop()


def _empty_topic(at_ms: int) -> TopicState:
    zero = dict.fromkeys(range(PARTITIONS), 0)
    return TopicState(at_ms, "cluster", "topic-a", PARTITIONS, DAY_MS, False, zero, zero, zero)
