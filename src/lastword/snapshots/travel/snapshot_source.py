"""Instant bootstrap: the newest usable snapshot, in the form that stores keep rows."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lastword.clock import Clock
from lastword.errors import SnapshotError
from lastword.records import REQUEST_HEADER
from lastword.replicas.restore_source import RestorePoint
from lastword.replicas.topic.topic_state import TopicState
from lastword.rows import PREFIX_BYTES, encode_row, plain_prefixes
from lastword.snapshots.catalog.location import Location
from lastword.snapshots.catalog.snapshot import Snapshot, why_unusable
from lastword.snapshots.catalog.snapshot_catalog import Catalog
from lastword.snapshots.travel.delta_reads import read_batches

log = logging.getLogger(__name__)

# An empty value between two that are joined. Made by hand: `pa.scalar` would load pandas first, a
# quarter of a second in which a whole table can be read.
_NO_BYTES = [None, pa.py_buffer(bytes(16)), pa.py_buffer(b"")]
_NOTHING = pa.Array.from_buffers(pa.large_binary(), 1, _NO_BYTES)[0]


class SnapshotSource:
    """A ``RestoreSource``: lists the snapshots once for all partitions that start together."""

    def __init__(self, location: Location, key_suffix_bytes: int, clock: Clock) -> None:
        self._uri = location.snapshots
        self._topic = location.topic
        self._suffix = key_suffix_bytes
        self._clock = clock
        self._topic_state: TopicState | None = None
        self._usable: list[Snapshot] = []

    def points(self, partition: int, topic_state: TopicState) -> Iterator[RestorePoint]:
        """Usable snapshots, the newest first; logs why others cannot be used."""
        if topic_state is not self._topic_state:
            self._topic_state, self._usable = topic_state, list(self._look(topic_state))
        return (self._offer(snapshot, partition) for snapshot in self._usable)

    def _look(self, topic_state: TopicState) -> Iterator[Snapshot]:
        try:
            snapshots = Catalog(self._uri).snapshots()
        except SnapshotError as error:
            log.warning("%s is restored from its log: %s", self._topic, error)
            return
        for snapshot in snapshots:
            reason = why_unusable(snapshot, topic_state, self._clock.now_ms(), self._suffix)
            if reason is None:
                yield snapshot
            else:
                number = snapshot.metadata.number
                log.info("snapshot %d of %s is not used: %s", number, self._topic, reason)

    def _offer(self, snapshot: Snapshot, partition: int) -> RestorePoint:
        metadata = snapshot.metadata
        return RestorePoint(
            name=f"snapshot {metadata.number} of {metadata.topic}",
            next_offset=metadata.offsets[partition],
            leader_epoch=metadata.leader_epochs.get(partition, -1),
            caught_up_at_ms=metadata.captured_at_ms,
            delete_retention_ms=metadata.delete_retention_ms,
            rows=lambda size: _chunks(
                read_batches(self._uri, snapshot.delta_version, partition), size
            ),
        )


def _chunks(batches: Iterator[pa.RecordBatch], size: int) -> Iterator[Mapping[bytes, bytes]]:
    rows: dict[bytes, bytes] = {}
    gathered = 0
    for batch in batches:
        of_batch = store_rows(batch)
        gathered += batch.nbytes
        if rows:
            rows.update(of_batch)
        else:
            rows = of_batch
        if gathered >= size:
            yield rows
            rows, gathered = {}, 0
    if rows:
        yield rows


def store_rows(batch: pa.RecordBatch) -> dict[bytes, bytes]:
    """The rows of a batch as a follower would have written them.

    Arrow assembles them all at once; Python only receives the finished bytes.
    """
    size = batch.num_rows
    timestamps = _integers(batch.column("timestamp")) // 1000
    prefixes = plain_prefixes(_integers(batch.column("offset")), timestamps)
    ends = np.arange(size + 1, dtype=np.int64) * PREFIX_BYTES
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(prefixes)]
    plain = pa.Array.from_buffers(pa.large_binary(), size, buffers)
    rows = pc.binary_join_element_wise(plain, batch.column("value"), _NOTHING).to_pylist()
    headers = batch.column("headers")
    if headers.null_count < size:
        for i, given in enumerate(headers.to_pylist()):
            if given:
                pairs = tuple(
                    (each["key"], each["value"]) for each in given if each["key"] != REQUEST_HEADER
                )
                value = rows[i][PREFIX_BYTES:]
                offset, timestamp_ms = int(prefixes["offset"][i]), int(prefixes["timestamp"][i])
                rows[i] = encode_row(offset, timestamp_ms, pairs, value)
    return dict(zip(batch.column("key").to_pylist(), rows, strict=True))


def _integers(column: pa.Array) -> NDArray[np.int64]:
    """A column of 64 bits as it lies in memory; ``to_numpy`` would load pandas first."""
    _, data = column.buffers()
    return np.frombuffer(data, np.int64)[column.offset : column.offset + len(column)]
