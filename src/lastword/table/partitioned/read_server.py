"""Answers reads of the partitions that are kept here, for this process and for its peers."""

from __future__ import annotations

from collections.abc import Mapping

from lastword.clock import Clock
from lastword.errors import MomentGoneError, PartitionNotHereError, StoreError, TooStaleError
from lastword.metrics import Metrics
from lastword.records import Position
from lastword.replicas.partition_views import freshness_of, position_of
from lastword.replicas.replica import Replica
from lastword.replicas.replica_set import ReplicaSet
from lastword.rows import is_due
from lastword.stores.base import StoreScan
from lastword.table.partitioned.fresh_as_of import FreshAsOf, complete_up_to
from lastword.table.partitioned.messages import (
    CountWanted,
    KeysWanted,
    PastWanted,
    ReadQuestion,
    ReadReply,
    SpanWanted,
    decode_question,
    encode_reply,
)
from lastword.table.partitioned.routed_versions import past_rows
from lastword.table.serving import Serving
from lastword.table.version_reads import LocalVersions

PAGE_BYTES = 4 << 20


class ReadServer:
    """Reads the copies kept here. Safe to use from any thread.

    Refuses with PartitionNotHereError, NotReadyError, NotUpToPositionError, and with TooStaleError
    when a copy is older than the question allows.
    """

    def __init__(
        self,
        instance_id: str,
        replicas: ReplicaSet,
        serving: Serving,
        fresh: FreshAsOf,
        *,
        clock: Clock,
        metrics: Metrics,
        versions: LocalVersions | None = None,
    ) -> None:
        self.instance_id = instance_id
        self._versions = versions
        self._replicas, self._serving = replicas, serving
        self._fresh, self._clock = fresh, clock
        self._refused = metrics.counter("too_stale_reads_total")

    def answer_peer(self, payload: bytes) -> bytes:
        """The answer to the question of a peer, both as bytes."""
        return encode_reply(self.answer(decode_question(payload)))

    def answer(self, question: ReadQuestion) -> ReadReply:
        """The rows as of one moment, from the copies that are here."""
        wanted = question.wanted
        partitions = wanted.partitions
        self._serving.ensure_ready_at(partitions)
        topic_id = self._replicas.topic_state.topic_id
        if question.topic_id not in ("", topic_id):
            raise PartitionNotHereError(
                f"{self._replicas.topic} is another topic here than where the read comes from",
                hint="it was deleted and created again; try again in a moment",
            )
        if question.at_least:
            self._replicas.wait_for(Position(question.at_least), question.timeout_s)
        page = _Page(self._clock.now_ms())
        with self._replicas.one_moment(partitions) as held:
            position = position_of(held, topic_id)
            freshness = freshness_of(held.values())
            fresh_at = min(map(self._fresh.fresh_at, held.values()), default=0.0)
            read_up_to = {p: complete_up_to(replica) for p, replica in held.items()}
            scans: dict[int, StoreScan] = {}
            limit = 0
            if isinstance(wanted, SpanWanted):
                limit = wanted.limit
                scans = {p: _scan(replica, wanted) for p, replica in held.items()}
            elif isinstance(wanted, KeysWanted):
                for partition, keys in wanted.keys.items():
                    page.add_keys(held[partition], keys)
            count = 0
            if isinstance(wanted, CountWanted):
                count = sum(replica.count() for replica in held.values())
        try:
            for partition, scan in scans.items():
                page.add_scan(held[partition], scan, limit)
        finally:
            for scan in scans.values():
                scan.close()
        if isinstance(wanted, PastWanted):
            page.rows = past_rows(wanted, self._kept_versions(), question.timeout_s)
        return ReadReply(
            instance=self.instance_id,
            rows=page.rows,
            unfinished=page.unfinished,
            count=count,
            offsets=dict(position.offsets),
            topic_id=topic_id,
            complete_at_ms=position.complete_at_ms,
            stale=freshness.stale,
            contact_age_s=freshness.contact_age_s,
            age_s=self._checked_age_s(fresh_at, read_up_to, question),
        )

    def _kept_versions(self) -> LocalVersions:
        if self._versions is None:
            raise MomentGoneError(
                f"{self.instance_id} keeps no versions of {self._replicas.topic}",
                hint="open the table with the same versions= on every instance",
            )
        return self._versions

    def _checked_age_s(
        self, fresh_at: float, read_up_to: Mapping[int, int], question: ReadQuestion
    ) -> float:
        """How old what was read is by now; raises TooStaleError."""
        age_s = max(0.0, self._clock.monotonic() - fresh_at)
        lag = max((self._fresh.lag(*each) for each in read_up_to.items()), default=0)
        too_far = question.max_lag is not None and lag > question.max_lag
        if age_s > question.max_stale_s or too_far:
            self._refused.add()
            raise TooStaleError(
                f"{self.instance_id} is {age_s:.1f} s and {lag} offsets behind with "
                f"{self._replicas.topic}, which is more than the read allows",
                hint="allow a larger max_stale or max_lag, or try again in a moment",
            )
        return age_s


class _Page:
    """The rows of one answer, limited in bytes: what does not fit is left unfinished."""

    def __init__(self, now_ms: int) -> None:
        self.rows: list[tuple[int, bytes, bytes]] = []
        self.unfinished: list[int] = []
        self._now_ms = now_ms
        self._bytes_left = PAGE_BYTES

    def add_keys(self, replica: Replica, keys: list[bytes]) -> None:
        if self._bytes_left <= 0:
            self.unfinished.append(replica.partition)
            return
        for key, row in zip(keys, replica.get_many(keys), strict=True):
            if row is not None:
                self._add(replica.partition, key, row)

    def add_scan(self, replica: Replica, scan: StoreScan, limit: int) -> None:
        try:
            for key, row in scan:
                if limit <= 0 or self._bytes_left <= 0:
                    self.unfinished.append(replica.partition)
                    return
                limit -= self._add(replica.partition, key, row)
        except StoreError as error:
            raise replica.explained(error) from error

    def _add(self, partition: int, key: bytes, row: bytes) -> bool:
        if is_due(row, self._now_ms):
            return False
        self.rows.append((partition, key, row))
        self._bytes_left -= len(key) + len(row)
        return True


def _scan(replica: Replica, wanted: SpanWanted) -> StoreScan:
    return replica.scan(wanted.start, wanted.end, reverse=wanted.reverse)
