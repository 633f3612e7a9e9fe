"""Every known change of one key: from the history, and from what the log still has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lastword.clock import Clock
from lastword.kafka.admin import Admin
from lastword.kafka.log.source import LogSource
from lastword.keyspace import Keyspace
from lastword.records import Batch, Record
from lastword.replicas.topic.protection import protection_seen
from lastword.replicas.topic.topic_state import read_topic_state
from lastword.snapshots.catalog.location import Location
from lastword.snapshots.travel.log_completeness import log_completeness
from lastword.snapshots.travel.past_sources import PastSources, read_past_sources


@dataclass(frozen=True)
class KeyHistory:
    """The changes of a key from the oldest to the newest.

    All changes from the offset ``complete_from`` on are among them; of those before it, compaction
    may have removed some. Offsets from ``searched_to`` on are not committed yet.
    """

    partition: int
    changes: list[Record]
    complete_from: int
    searched_to: int

    def may_lack_some_before(self, index: int) -> bool:
        """Whether there may have been changes between this one and the one before it."""
        after = self.changes[index - 1].offset + 1 if index else 0
        return after < self.complete_from


class KeyHistoryReader:
    """Reads the known changes of single keys of one topic."""

    def __init__(
        self,
        admin: Admin,
        log_source: LogSource,
        topic: str,
        location: Location | None,
        *,
        keyspace: Keyspace,
        clock: Clock,
    ) -> None:
        self._admin = admin
        self._log_source = log_source
        self._topic = topic
        self._location = location
        self._keyspace = keyspace
        self._clock = clock

    def read(self, key: bytes) -> KeyHistory:
        """All known changes of ``key``."""
        partition = self._keyspace.partition_of(key)
        topic_state = read_topic_state(self._admin, self._topic, self._clock.now_ms())
        now = protection_seen(topic_state, self._clock.now_ms())
        known = read_past_sources(
            self._log_source,
            self._location,
            topic_state,
            now,
            key_suffix_bytes=self._keyspace.suffix_bytes,
        )
        start, end = topic_state.starts[partition], topic_state.stable_ends[partition]
        changes: list[Record] = []
        complete_from = held_to = start
        if known.history:
            metadata = known.history[0].metadata
            held_from, held_to = metadata.held_from[partition], metadata.offsets[partition]
            # What is older than the history may still be in the log.
            for batch in self._log(partition, start, min(held_from, end)):
                changes += batch.records_of(key)
            complete_from, kept = self._from_history(known, partition, key)
            changes += kept
        tail = _Unbroken(held_to)
        for batch in self._log(partition, held_to, end):
            tail.add(batch)
            changes += batch.records_of(key)
        after = read_topic_state(self._admin, self._topic, self._clock.now_ms())
        observed = [*known.observed, protection_seen(after, self._clock.now_ms())]
        protected_from = log_completeness(self._admin, self._topic, observed).complete_from[
            partition
        ]
        whole_from = min(tail.end(end), protected_from)
        if whole_from > held_to:
            complete_from = whole_from
        return KeyHistory(partition, changes, complete_from, end)

    def _log(self, partition: int, start: int, end: int) -> Iterator[Batch]:
        return self._log_source.read(self._topic, {partition: (start, end)})

    def _from_history(
        self, known: PastSources, partition: int, key: bytes
    ) -> tuple[int, list[Record]]:
        from lastword.snapshots.travel.history import History  # noqa: PLC0415 - loads deltalake

        if self._location is None:
            raise RuntimeError("a history has a place")
        newest = known.history[0]
        history, delta_version = History(self._location.history), newest.delta_version
        held = (newest.metadata.held_from[partition], newest.metadata.offsets[partition])
        batches = history.changes(partition, *held, delta_version=delta_version, key=key)
        changes = [record for batch in batches for record in batch.records()]
        unbroken_from = history.unbroken_from(partition, *held, delta_version=delta_version)
        return min(newest.complete_from[partition], unbroken_from), changes


class _Unbroken:
    """From which offset on none is missing."""

    def __init__(self, start: int) -> None:
        self._since = self._next = start

    def add(self, batch: Batch) -> None:
        before = np.concatenate(([self._next - 1], batch.offsets[:-1]))
        gaps = np.flatnonzero(batch.offsets != before + 1)
        if len(gaps):
            self._since = int(batch.offsets[gaps[-1]])
        self._next = int(batch.offsets[-1]) + 1

    def end(self, offset: int) -> int:
        """Everything below ``offset`` was read."""
        return self._since if offset == self._next else offset
