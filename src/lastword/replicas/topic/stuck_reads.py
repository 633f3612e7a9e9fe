"""Partitions that send nothing although their log continues: they are assigned again.

librdkafka can stop fetching a partition after its leader has restarted, without an error, until
its next look at all topics five minutes later. The ends of the log, which the monitor asks for with
another client, show it. An assignment at the same position makes librdkafka start over.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lastword.kafka.log.source import LogReader
from lastword.replicas.partition_follower import PartitionFollower
from lastword.replicas.topic.topic_state import TopicState
from lastword.replicas.topic.troubles import Troubles

log = logging.getLogger(__name__)

STUCK_STATES = 5
"""Topic states, about a second apart, that a partition may send nothing."""
STUCK_STATES_MAX = 60
"""The limit if assigning it again does not help: not every broker keeps the last offset."""


@dataclass(slots=True)
class _Standstill:
    """A partition whose next offset has not changed during ``states`` topic states."""

    offset: int
    states: int = 0
    patience: int = STUCK_STATES


class StuckReads:
    """Counts the topic states in which a partition stood still before the stable end of its log.

    States count only with a poll in between: they pile up while a slow store blocks the tailing
    thread. During a restore, records wait behind those of other partitions, so a state counts only
    if the reader had nothing at all.
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._still: dict[int, _Standstill] = {}
        self._polled = self._idle = False

    def on_poll(self, *, idle: bool) -> None:
        """The reader was asked; ``idle`` if it had nothing from any partition."""
        self._polled = True
        self._idle |= idle

    def on_topic_state(
        self,
        topic_state: TopicState,
        followers: Mapping[int, PartitionFollower],
        reader: LogReader,
        troubles: Troubles,
    ) -> None:
        """Assign again what is stuck, unless ``troubles`` has another reason."""
        for partition in list(self._stuck(topic_state, followers)):
            if troubles.of(partition) is None:
                place = followers[partition].offsets.place
                reader.release(partition)
                reader.assign(partition, place.offset, place.leader_epoch)

    def _stuck(
        self, topic_state: TopicState, followers: Mapping[int, PartitionFollower]
    ) -> Iterator[int]:
        polled, idle = self._polled, self._idle
        self._polled = self._idle = False
        for partition, follower in followers.items():
            offset = follower.offsets.next_offset
            known = self._still.get(partition)
            if known is None or known.offset != offset:
                known = self._still[partition] = _Standstill(offset)
            if topic_state.stable_ends[partition] <= offset:
                known.states = 0
            elif partition not in topic_state.unanswered and (idle or (polled and follower.live)):
                known.states += 1
            if known.states >= known.patience:
                log.warning(
                    "%s, partition %d sends nothing after offset %d, but its log ends at %d: "
                    "reading it again",
                    self._topic,
                    partition,
                    offset,
                    topic_state.stable_ends[partition],
                )
                known.states, known.patience = 0, min(2 * known.patience, STUCK_STATES_MAX)
                yield partition
