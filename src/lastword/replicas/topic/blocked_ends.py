"""Partitions whose log seems to end before the captured end, and what that means.

An open transaction hides the records after it until it ends: wait. Offsets compacted away at the
very end of a log never arrive: continue without them. Apache Kafka keeps the last offset, other
brokers may not. The last stable offset tells the two apart, but not a gap from a reader that is
merely stuck. So the reader is assigned again. Only the leader can prove that its log, stable up to
the captured end, has nothing more.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lastword.kafka.log.source import LogReader
from lastword.replicas.partition_follower import PartitionFollower
from lastword.replicas.topic.topic_state import TopicState

log = logging.getLogger(__name__)

TAIL_GAP_STATES = 3


@dataclass(slots=True)
class _Suspicion:
    """How often a partition was seen with nothing left to wait for.

    ``asked_of`` is the epoch of the leader that the reader was assigned to again, and
    ``ended_at_ms`` when that reading came to its end.
    """

    states: int = 0
    asked_of: int | None = None
    ended_at_ms: int | None = None

    def start_over(self) -> None:
        self.states, self.asked_of, self.ended_at_ms = 0, None, None


class BlockedEnds:
    """Decides for each blocked partition when to read again, and when its log ends in a gap.

    A topic state counts only if the reader returned nothing since the one before: states pile up
    while a slow store blocks the tailing thread, and prove nothing then.
    """

    def __init__(self) -> None:
        self._suspicions: dict[int, _Suspicion] = {}
        self._idle = False

    def __contains__(self, partition: int) -> bool:
        return partition in self._suspicions

    def add(self, partition: int, at_ms: int) -> None:
        """The log ended before the captured end."""
        known = self._suspicions.setdefault(partition, _Suspicion())
        if known.asked_of is not None:
            known.ended_at_ms = at_ms

    def discard(self, partition: int) -> None:
        """Something arrived, or the captured end is reached."""
        self._suspicions.pop(partition, None)

    def on_idle(self) -> None:
        """The reader waited and got nothing, from any partition."""
        self._idle = True

    def on_topic_state(
        self, topic_state: TopicState, followers: Mapping[int, PartitionFollower], reader: LogReader
    ) -> None:
        """Act on a new topic state."""
        targets = {p: follower.offsets.target for p, follower in followers.items()}
        for partition in self.tail_gaps(topic_state, targets):
            followers[partition].offsets.end_in_gap()
        for partition in self.suspects(topic_state, targets):
            place = followers[partition].offsets.place
            reader.release(partition)
            reader.assign(partition, place.offset, place.leader_epoch)

    def suspects(self, topic_state: TopicState, targets: Mapping[int, int]) -> Iterator[int]:
        """The partitions to be assigned again.

        They sent nothing during several topic states, although no transaction blocks them.
        """
        idle, self._idle = self._idle, False
        for partition, known in self._suspicions.items():
            if partition in topic_state.unanswered:
                continue
            if topic_state.stable_ends[partition] < targets[partition]:
                known.start_over()
            elif known.asked_of is None:
                known.states += idle
                if known.states >= TAIL_GAP_STATES:
                    known.asked_of = topic_state.leader_epochs.get(partition, -1)
                    yield partition

    def tail_gaps(self, topic_state: TopicState, targets: Mapping[int, int]) -> list[int]:
        """The partitions that are proven to end in a gap, by a state after a fresh end of log.

        A new leader may not know how much of its log is settled and end it early. If it came
        between the two states, everything starts over.
        """
        found = []
        for partition, known in list(self._suspicions.items()):
            if known.ended_at_ms is None or topic_state.at_ms < known.ended_at_ms:
                continue
            if partition in topic_state.unanswered:
                continue
            same_leader = known.asked_of == topic_state.leader_epochs.get(partition, -1)
            if not same_leader or topic_state.stable_ends[partition] < targets[partition]:
                known.start_over()
            else:
                log.info("partition %d ends in a gap before %d", partition, targets[partition])
                self.discard(partition)
                found.append(partition)
        return found
