"""A topic without Kafka: facts about it and batches of it, as the followers are given them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from lastword.column_batch import ColumnBatch
from lastword.keyspace import Keyspace
from lastword.records import Headers, Validate
from lastword.replicas.apply.record_filter import RecordFilter
from lastword.replicas.partition_follower import PartitionFollower
from lastword.replicas.topic.topic_state import TopicState
from lastword.stores.base import Capabilities
from lastword.stores.memory import MemoryStore
from lastword.testing.fake_clock import FakeClock

DAY_MS = 86_400_000

Pair = tuple[bytes | None, bytes | None]


def batch_of(
    pairs: Sequence[Pair],
    first: int = 0,
    *,
    partition: int = 0,
    next_offset: int | None = None,
    leader_epoch: int = 0,
    headers: Sequence[Headers | None] | None = None,
) -> ColumnBatch:
    """The pairs at consecutive offsets from ``first``, timestamps equal to the offsets."""
    offsets = list(range(first, first + len(pairs)))
    return ColumnBatch(
        partition=partition,
        keys=[key for key, _ in pairs],
        values=[value for _, value in pairs],
        offsets=offsets,
        timestamps=offsets,
        headers=headers if headers is not None else [None] * len(pairs),
        next_offset=first + len(pairs) if next_offset is None else next_offset,
        leader_epoch=leader_epoch,
    )


class KeepingStore(MemoryStore):
    """Claims to be persistent: what a second follower over it finds is what was applied."""

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(persistent=True)


@dataclass
class OfflineTopic:
    """One partition of a topic and what is known of it; change a field, then ask for facts."""

    clock: FakeClock
    why_bad: Callable[[bytes, bytes, Headers], str | None] | None = None
    store: MemoryStore = field(default_factory=KeepingStore)
    topic_state: TopicState = field(
        default_factory=lambda: TopicState(
            at_ms=0,
            cluster_id="cluster-a",
            topic_id="topic-a",
            partitions=1,
            delete_retention_ms=DAY_MS,
            deletes_old_segments=False,
            starts={0: 0},
            ends={0: 0},
            stable_ends={0: 0},
        )
    )

    def __post_init__(self) -> None:
        self.store.open()

    def state(self, end: int | None = None, **changes: object) -> TopicState:
        """The facts as of now, with ``changes`` from now on."""
        if end is not None:
            changes |= {"ends": {0: end}, "stable_ends": {0: end} | changes.pop("stable_ends", {})}
        self.topic_state = replace(self.topic_state, at_ms=self.clock.now_ms(), **changes)
        return self.topic_state

    def _validate(self) -> Validate | None:
        """The check of a batch, by ``why_bad`` of each record."""
        why_bad = self.why_bad
        if why_bad is None:
            return None

        def validate(
            keys: Sequence[bytes], values: Sequence[bytes], headers: Sequence[Headers]
        ) -> dict[int, str]:
            reasons = enumerate(map(why_bad, keys, values, headers))
            return {i: reason for i, reason in reasons if reason is not None}

        return validate

    def follower(self) -> PartitionFollower:
        """A follower over the store, as after a restart of the process."""
        return PartitionFollower(
            0, self.store, RecordFilter(Keyspace(1), self._validate()), self.clock
        )

    def live_follower(self, pairs: Sequence[Pair] = ()) -> PartitionFollower:
        """A follower that has restored ``pairs`` and is live."""
        follower = self.follower()
        follower.begin(self.state(len(pairs)))
        if pairs:
            follower.accept(batch_of(pairs), gather=False)
        follower.go_live()
        return follower
