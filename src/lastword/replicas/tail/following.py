"""Assembles the parts that follow one topic: the reader, the threads and what is between them."""

from __future__ import annotations

from lastword.clock import Clock
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.groups.position_publisher import PositionPublisher
from lastword.kafka.log.source import LogSource
from lastword.metrics import Metrics
from lastword.replicas.held import HeldReplicas
from lastword.replicas.hooks import Hooks
from lastword.replicas.replica import Replica
from lastword.replicas.restore_source import RestoreSource
from lastword.replicas.sweep.schedule import SweepSchedule
from lastword.replicas.tail.housekeeping import Housekeeping
from lastword.replicas.tail.inbox import Inbox
from lastword.replicas.tail.intake import Intake
from lastword.replicas.tail.readiness import Readiness
from lastword.replicas.tail.replica_starter import ReplicaStarter
from lastword.replicas.tail.tailer import Tailer
from lastword.replicas.topic.blocked_ends import BlockedEnds
from lastword.replicas.topic.monitor import TopicMonitor
from lastword.replicas.topic.reaction import TopicReaction
from lastword.replicas.topic.stuck_reads import StuckReads
from lastword.replicas.topic.topic_state import TopicState, read_topic_state
from lastword.replicas.topic.troubles import Troubles


class Following:
    """Keeps the replicas in ``held`` up to date with their log, from ``start`` to ``stop``.

    ``ended`` is True once the tailing thread has ended, for whatever reason.
    """

    def __init__(
        self,
        connection: Connection,
        log_source: LogSource,
        topic: str,
        *,
        admin: Admin,
        clock: Clock,
        metrics: Metrics,
        group_id: str,
        hooks: Hooks,
        source: RestoreSource | None = None,
    ) -> None:
        self.topic = topic
        self.ended = False
        self.held = held = HeldReplicas(topic)
        self.troubles = troubles = Troubles(topic, clock)
        self._admin = admin
        self._clock = clock
        self.inbox = inbox = Inbox(topic)
        self.reader = reader = log_source.follow(topic)
        self._blocked = blocked = BlockedEnds()
        stuck = StuckReads(topic)
        intake = Intake(
            held,
            blocked=blocked,
            stuck=stuck,
            troubles=troubles,
            hooks=hooks,
            clock=clock,
            metrics=metrics,
        )
        self.sweeps = sweeps = self._make_sweeps(log_source, intake)
        self._starter = starter = ReplicaStarter(
            reader,
            inbox.post,
            sweeps,
            blocked,
            source=source,
            listener=hooks.listener,
            metrics=metrics,
        )
        readiness = Readiness(held, sweeps, blocked, hooks, self._end)
        self.reaction = TopicReaction(
            held,
            reader,
            starter,
            readiness,
            sweeps=sweeps,
            blocked=blocked,
            stuck=stuck,
            troubles=troubles,
        )
        self.monitor = TopicMonitor(admin, topic, clock, self._post_state)
        publisher = PositionPublisher(connection, topic, group_id)
        self._housekeeping = Housekeeping(held, publisher, clock)
        self._tailer = self._make_tailer(intake, readiness, hooks)

    def _make_sweeps(self, log_source: LogSource, intake: Intake) -> SweepSchedule:
        return SweepSchedule(
            log_source,
            self.topic,
            clock=self._clock,
            post=self.inbox.post,
            drop=intake.drop,
            end_of=self._stable_end,
        )

    def _make_tailer(self, intake: Intake, readiness: Readiness, hooks: Hooks) -> Tailer:
        return Tailer(
            self.topic,
            self.reader,
            self.inbox,
            intake=intake,
            position_lost=self.reaction.position_lost,
            upkeep=(
                self.sweeps.check,
                lambda: readiness.check(self.topic_state),
                self._housekeeping.check,
            ),
            on_failure=hooks.on_failure,
            on_end=self._on_end,
        )

    def start(self) -> None:
        """Read the state of the topic, start every replica, and follow in the background."""
        topic_state = read_topic_state(self._admin, self.topic, self._clock.now_ms())
        self.monitor.protection.record(topic_state, self._clock.now_ms())
        # A start that may take long runs in the background; any other raises its errors here.
        starter = self._starter
        begin = starter.begin if starter.may_take_long else starter.begin_at_once
        self.reaction.begin_all(topic_state, begin)
        self._tailer.start()
        starter.start()
        self.monitor.start(topic_state)
        self.sweeps.start()

    def stop(self) -> None:
        """Stop following and free what that took; idempotent. The stores stay open."""
        self._tailer.stop()
        self.monitor.stop()
        self.sweeps.stop()
        self._starter.stop()
        self.reader.close()
        self._housekeeping.close()
        self.held.feed.break_off("the table was closed", "open it again to continue watching")

    @property
    def topic_state(self) -> TopicState:
        """The last known state of the topic."""
        return self.reaction.topic_state

    def refresh(self) -> TopicState:
        """Ask for the state of the topic now; the tailing thread gets it too."""
        return self.monitor.refresh()

    def gain(self, replica: Replica, timeout_s: float) -> None:
        """Begin one more replica; raises what ``Inbox.call`` does."""
        self.inbox.call(lambda: self.reaction.gain(replica), timeout_s)

    def lose(self, replica: Replica, timeout_s: float) -> None:
        """Stop following a replica; raises what ``Inbox.call`` does."""
        self.inbox.call(lambda: self.reaction.lose(replica), timeout_s)

    def is_blocked(self, partition: int) -> bool:
        """Whether the log of a partition seems to end before the captured end."""
        return partition in self._blocked

    def _post_state(self, topic_state: TopicState | None) -> None:
        self.inbox.post(
            lambda: self.reaction.on_topic_state(topic_state, topic_gone=self.monitor.topic_gone)
        )

    def _end(self, partition: int) -> int:
        return self._admin.end_offsets(self.topic, [partition])[partition]

    def _stable_end(self, partition: int) -> int:
        return self._admin.stable_offsets(self.topic, [partition])[partition]

    def _on_end(self) -> None:
        self.ended = True
        self.held.moved()
