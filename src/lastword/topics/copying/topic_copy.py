"""Copies the committed records of a topic into another one, by key, each of them once.

Records and source positions are committed in one transaction. A copy that was killed continues
where its last transaction ended, and a second copy of the same topics fences the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.errors import ConnectionFailedError, TopicUnfitError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.groups import Committed, Groups
from lastword.kafka.groups.names import copy_group, copy_transactional_id
from lastword.kafka.log.source import EndOfLog, LogReader, LogSource, News, PositionLost
from lastword.kafka.write.transaction_writer import Output, TransactionWriter
from lastword.keyspace import Keyspace
from lastword.records import FENCE_KEY, REQUEST_HEADER, Batch, Headers, TopicPartition
from lastword.topics.copying.target import Endpoints, marked, positions_of

_POLL_S = 0.2
TRANSACTION_BYTES = 8 << 20
STALL_S = 120.0


CopyReport = Callable[[int, int], None]
"""Called with how many offsets are done, and how many there are."""


@dataclass
class CopyCounts:
    """What a run has done so far, in records."""

    copied: int = 0
    left_out: int = 0
    """Without a key, or in a partition that is not the key's: no table reads them."""


@dataclass
class _Gathered:
    """The records of one transaction, by the partition they go to."""

    outputs: dict[TopicPartition, list[Output]] = field(default_factory=dict)
    size_bytes: int = 0


class TopicCopy:
    """One run of a copy. Not safe across threads; a context manager.

    ``key_suffix_bytes`` at the end of a key (the times of a window) do not choose its partition.
    Fence records and request ids of owned tables are not copied: they belong to the source's
    owners.
    """

    def __init__(
        self,
        admin: Admin,
        connection: Connection,
        log_source: LogSource,
        ends: Endpoints,
        *,
        key_suffix_bytes: int = 0,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.ends = ends
        self.counts = CopyCounts()
        self.positions: dict[TopicPartition, int] = {}
        self._admin = admin
        self._groups = Groups(connection)
        self._writer = TransactionWriter(
            connection, copy_transactional_id(ends.source.name, ends.target.name)
        )
        self._log_source = log_source
        self._reader: LogReader | None = None
        self._clock = clock
        self._from = Keyspace(ends.source.partitions, key_suffix_bytes)
        self._to = Keyspace(ends.target.partitions, key_suffix_bytes)

    def __enter__(self) -> TopicCopy:
        self._writer.take_over()
        positions = positions_of(self._admin, self._groups, self.ends)
        starts = self._starts()
        if positions is None:
            # Committed before the first record: everything after it is known to be of this copy.
            self.positions = starts
            self._commit(_Gathered())
        else:
            self.positions = {place: positions.get(place, at) for place, at in starts.items()}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._reader is not None:
            self._reader.close()
        self._groups.close()

    def lag(self) -> tuple[int, int]:
        """(offsets that are not copied yet, offsets of the whole source), as of now."""
        bounds = self._admin.bounds(self.ends.source.name, range(self.ends.source.partitions))
        behind = sum(
            max(0, each.end - self.positions[TopicPartition(self.ends.source.name, p)])
            for p, each in bounds.items()
        )
        return behind, sum(each.end - each.start for each in bounds.values())

    def advance(self) -> int:
        """Copy the records of a moment in one transaction; return the offsets done."""
        before = sum(self.positions.values())
        gathered = _Gathered()
        reached = dict(self.positions)
        while gathered.size_bytes < TRANSACTION_BYTES:
            news = self._reading().poll(_POLL_S)
            for item in news:
                self._take(item, gathered, reached)
            if not any(isinstance(item, Batch) for item in news):
                break
        if reached != self.positions:
            self.positions = reached
            self._commit(gathered)
        return sum(self.positions.values()) - before

    def catch_up(self, report: CopyReport) -> None:
        """Copy until the current end of the source; raises if nothing can be read for long."""
        name = self.ends.source.name
        wanted = self._admin.end_offsets(name, range(self.ends.source.partitions))
        total = sum(wanted.values())
        moved_at = self._clock.monotonic()
        while not self._reached(wanted):
            if self.advance():
                moved_at = self._clock.monotonic()
            elif self._clock.monotonic() - moved_at > STALL_S:
                raise ConnectionFailedError(
                    f"{name}: nothing could be read for {STALL_S:.0f} s before the end",
                    hint="is the broker reachable, or does an open transaction block the end?",
                )
            report(min(total, sum(self.positions.values())), total)

    def _reached(self, wanted: Mapping[int, int]) -> bool:
        name = self.ends.source.name
        return all(self.positions[TopicPartition(name, p)] >= end for p, end in wanted.items())

    def _reading(self) -> LogReader:
        if self._reader is None:
            self._reader = self._log_source.follow(self.ends.source.name)
            for place, offset in self.positions.items():
                self._reader.assign(place.partition, offset)
        return self._reader

    def _take(self, item: News, gathered: _Gathered, reached: dict[TopicPartition, int]) -> None:
        place = TopicPartition(self.ends.source.name, item.partition)
        if isinstance(item, Batch):
            self._gather(item, gathered)
            reached[place] = max(reached[place], item.next_offset)
        elif isinstance(item, EndOfLog):
            reached[place] = max(reached[place], item.offset)
        elif isinstance(item, PositionLost):
            raise TopicUnfitError(
                f"{place.topic}, partition {place.partition}: the copy cannot continue: its "
                f"offset is gone: {item.reason}",
                hint=f"delete {self.ends.target.name} and start the copy again",
            )

    def _gather(self, batch: Batch, gathered: _Gathered) -> None:
        for record, partition in self._kept(batch):
            place = TopicPartition(self.ends.target.name, partition)
            gathered.outputs.setdefault(place, []).append(record)
            self.counts.copied += 1
        gathered.size_bytes += batch.size_bytes

    def _kept(self, batch: Batch) -> Iterable[tuple[Output, int]]:
        """The records that a table of the source has, and the partition that each goes to."""
        records = [each for each in batch.records() if each.key != FENCE_KEY]
        keyed = [(each, each.key) for each in records if each.key]
        keys = [key for _, key in keyed]
        if not keys:
            self.counts.left_out += len(records)
            return []
        homes = self._from.partitions_of(keys) == batch.partition
        places = self._to.partitions_of(keys).tolist()
        kept = [
            ((key, each.value, each.timestamp_ms, without_request_id(each.headers)), place)
            for (each, key), at_home, place in zip(keyed, homes.tolist(), places, strict=True)
            if at_home
        ]
        self.counts.left_out += len(records) - len(kept)
        return kept

    def _commit(self, gathered: _Gathered) -> None:
        def positions(_: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, Committed]:
            return marked(self.ends, self.positions)

        group = copy_group(self.ends.target.name)
        self._writer.write(gathered.outputs, positions, self._groups.outsider(group))

    def _starts(self) -> dict[TopicPartition, int]:
        name = self.ends.source.name
        starts = self._admin.start_offsets(name, range(self.ends.source.partitions))
        return {TopicPartition(name, p): offset for p, offset in starts.items()}


def without_request_id(headers: Headers) -> Headers:
    """The headers that belong to the record and not to the owner that wrote it."""
    if not headers:
        return headers
    return tuple(each for each in headers if each[0] != REQUEST_HEADER)
