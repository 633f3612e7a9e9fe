"""Instant bootstrap: the newest usable snapshot, in the form that stores keep rows."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np
import pyarrow as pa

from lastword.clock import Clock
from lastword.errors import SnapshotError
from lastword.follow.facts import TopicFacts
from lastword.follow.restore_source import Offer
from lastword.follow.rows import PLAIN_ROW, encode_row
from lastword.snapshots.catalog import Catalog
from lastword.snapshots.location import Location
from lastword.snapshots.reading import read_batches
from lastword.snapshots.snapshot import Snapshot, why_unusable

log = logging.getLogger(__name__)

# Of rows in one apply: RocksDB makes a sorted file of that, and the rows come in key order.
_CHUNK_BYTES = 64 << 20
_PREFIX = np.dtype([("format", "u1"), ("offset", ">i8"), ("timestamp", ">i8")])


class SnapshotSource:
    """A ``RestoreSource``: looks at the snapshots once per restore of a partition."""

    def __init__(self, location: Location, clock: Clock) -> None:
        self._uri = location.snapshots
        self._topic = location.topic
        self._clock = clock

    def offers(self, partition: int, facts: TopicFacts) -> Iterator[Offer]:
        """Usable snapshots, the newest first; why another is not is logged."""
        try:
            snapshots = Catalog(self._uri).snapshots()
        except SnapshotError as error:
            log.warning("%s is restored from its log: %s", self._topic, error)
            return
        for snapshot in snapshots:
            reason = why_unusable(snapshot, facts, self._clock.now_ms())
            if reason is None:
                yield self._offer(snapshot, partition)
            else:
                number = snapshot.note.number
                log.info("snapshot %d of %s is not used: %s", number, self._topic, reason)

    def _offer(self, snapshot: Snapshot, partition: int) -> Offer:
        note = snapshot.note
        return Offer(
            name=f"snapshot {note.number} of {note.topic}",
            next_offset=note.offsets[partition],
            leader_epoch=note.leader_epochs.get(partition, -1),
            caught_up_at_ms=note.captured_at_ms,
            delete_retention_ms=note.delete_retention_ms,
            rows=lambda: _chunks(read_batches(self._uri, snapshot.version, partition)),
        )


def _chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[Mapping[bytes, bytes]]:
    rows: dict[bytes, bytes] = {}
    size = 0
    for batch in batches:
        rows.update(store_rows(batch))
        size += batch.nbytes
        if size >= _CHUNK_BYTES:
            yield rows
            rows, size = {}, 0
    if rows:
        yield rows


def store_rows(batch: pa.RecordBatch) -> Mapping[bytes, bytes]:
    """The rows of a batch as a follower would have written them."""
    size = batch.num_rows
    prefixes = np.empty(size, _PREFIX)
    prefixes["format"] = PLAIN_ROW
    prefixes["offset"] = batch.column("offset").to_numpy()
    timestamps = batch.column("timestamp").cast(pa.int64()).to_numpy() // 1000
    prefixes["timestamp"] = timestamps
    plain = prefixes.tobytes()
    width = _PREFIX.itemsize
    keys, values = _slices(batch.column("key")), _slices(batch.column("value"))
    starts = range(0, size * width, width)
    rows = [plain[i : i + width] + value for i, value in zip(starts, values, strict=True)]
    headers = batch.column("headers")
    if headers.null_count < size:
        for i, given in enumerate(headers.to_pylist()):
            if given:
                pairs = tuple((each["key"], each["value"]) for each in given)
                offset = int(prefixes["offset"][i])
                rows[i] = encode_row(offset, int(timestamps[i]), pairs, values[i])
    return dict(zip(keys, rows, strict=True))


def _slices(column: pa.Array) -> list[bytes]:
    """Every element of a large binary column; several times as fast as ``to_pylist``."""
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    if not len(column) or data is None:
        return [b""] * len(column)
    first = int(ends[0])
    joined = data.slice(first, int(ends[-1]) - first).to_pybytes()
    places = (ends - first).tolist()
    return [joined[a:b] for a, b in pairwise(places)]
