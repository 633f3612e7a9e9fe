"""The history of a topic: every change, kept in an append-only Delta table, deletes included.

Each commit holds the changes after the previous one, and records its offsets. So each change is
there once, even if jobs were killed, retried or run twice.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from lastword.codecs.columns.type_tree import ColumnType
from lastword.column_batch import ColumnBatch
from lastword.errors import SnapshotError
from lastword.records import Batch, Headers
from lastword.replicas.sweep.retention import lag_margin_ms
from lastword.replicas.topic.protection import ObservedProtection
from lastword.replicas.topic.topic_state import TopicState
from lastword.snapshots.catalog.column_changes import held_columns
from lastword.snapshots.catalog.layout import RAW_COLUMNS
from lastword.snapshots.catalog.snapshot_catalog import delta_errors

HISTORY_FORMAT = 1
APPLICATION = "lastword-history"

_BATCH_ROWS = 64 << 10


class HistoryMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """What one commit adds, and what the table then holds; user metadata of the commit, as JSON.

    It adds the offsets from ``starts`` to ``offsets``. From ``complete_from`` on the table has
    every change: the setting that protects a log was in force until it was read.
    """

    number: int
    run_id: str
    topic: str
    topic_id: str
    cluster_id: str
    starts: dict[int, int]
    offsets: dict[int, int]
    held_from: dict[int, int]
    complete_from: dict[int, int]
    captured_at_ms: int
    answered_at_ms: int = msgspec.field(name="known_at_ms")
    compaction_lag_ms: int
    leader_epochs: dict[int, int]
    key_codec: str
    value_codec: str
    application: str = APPLICATION
    history_format: int = HISTORY_FORMAT


class HistoryCommit(msgspec.Struct, frozen=True):
    """A committed part of the history, and when that was."""

    metadata: HistoryMetadata
    delta_version: int
    committed_at_ms: int

    @property
    def protection(self) -> ObservedProtection:
        """The topic's settings as the job observed them."""
        metadata = self.metadata
        return ObservedProtection(
            metadata.captured_at_ms,
            metadata.answered_at_ms,
            metadata.offsets,
            metadata.compaction_lag_ms,
        )

    @property
    def complete_from(self) -> dict[int, int]:
        """As in the metadata, unless reading took longer than the setting surely protects."""
        metadata = self.metadata
        slack_ms = lag_margin_ms(metadata.compaction_lag_ms) // 2  # the rest is for the clocks
        if self.committed_at_ms - metadata.answered_at_ms <= slack_ms:
            return metadata.complete_from
        read = [p for p, start in metadata.starts.items() if start < metadata.offsets[p]]
        return metadata.complete_from | {p: metadata.offsets[p] for p in read}


_decode = msgspec.json.Decoder(HistoryMetadata).decode


def encode_history_metadata(metadata: HistoryMetadata) -> str:
    """The text that goes into the commit."""
    return msgspec.json.encode(metadata).decode()


class History:
    """Reads the history of one topic; needs no JVM."""

    def __init__(self, uri: str) -> None:
        self.uri = uri

    def commits(self) -> list[HistoryCommit]:
        """The commits that Delta's log still has, newest first; empty before the first one."""
        try:
            with delta_errors(self.uri):
                entries = DeltaTable(self.uri).history()
        except TableNotFoundError:
            return []
        found = [
            HistoryCommit(metadata, entry["version"], entry["timestamp"])
            for entry in entries
            if (metadata := _decoded(entry.get("userMetadata"))) is not None
        ]
        if not found:
            raise SnapshotError(
                f"{self.uri} holds rows, but no commit says which offsets they have",
                hint="move it away; the next run starts a new history",
            )
        return found

    def decoded_types(self) -> dict[str, ColumnType] | None:
        """The types of the decoded columns; None before the first commit."""
        try:
            with delta_errors(self.uri):
                held = held_columns(DeltaTable(self.uri))
        except TableNotFoundError:
            return None
        return {name: kind for name, kind in held.items() if name.startswith("decoded_")}

    def of(self, topic_state: TopicState) -> list[HistoryCommit]:
        """The same, if it is the history of this very log; else nothing."""
        return [
            each
            for each in self.commits()
            if (each.metadata.topic_id, each.metadata.cluster_id)
            == (topic_state.topic_id, topic_state.cluster_id)
            and len(each.metadata.offsets) == topic_state.partitions
        ]

    def changes(
        self, partition: int, start: int, end: int, *, delta_version: int, key: bytes | None = None
    ) -> Iterator[Batch]:
        """What was written from ``start`` to ``end``, in order; only that of ``key`` if given."""
        field = pc.field
        wanted = (field("partition") == partition) & (field("offset") >= start)
        wanted &= field("offset") < end
        if key is not None:
            wanted &= field("key") == pa.scalar(key, pa.large_binary())
        with delta_errors(self.uri):
            table = DeltaTable(self.uri, version=delta_version)
            dataset = table.to_pyarrow_dataset(as_large_types=True)
            rows = dataset.to_table(list(RAW_COLUMNS), filter=wanted).sort_by("offset")
        offsets = rows["offset"]
        if pc.count_distinct(offsets).as_py() != len(offsets):
            raise SnapshotError(
                f"{self.uri}: partition {partition} has an offset twice from {start} to {end}",
                hint="another program has written to it; move it away to start a new history",
            )
        for batch in rows.to_batches(max_chunksize=_BATCH_ROWS):
            yield _batch(partition, batch)

    def unbroken_from(self, partition: int, start: int, end: int, *, delta_version: int) -> int:
        """The first offset from which none is missing up to ``end``; ``end`` if the last is."""
        field = pc.field
        wanted = (field("partition") == partition) & (field("offset") >= start)
        with delta_errors(self.uri):
            dataset = DeltaTable(self.uri, version=delta_version).to_pyarrow_dataset()
            rows = dataset.to_table(["offset"], filter=wanted & (field("offset") < end))
        offsets = np.sort(rows["offset"].to_numpy())
        if not offsets.size or offsets[-1] != end - 1:
            return end
        gaps = np.flatnonzero(np.diff(offsets) != 1)
        return int(offsets[gaps[-1] + 1] if gaps.size else offsets[0])


def _decoded(text: str | None) -> HistoryMetadata | None:
    try:
        metadata = _decode(text or "")
    except msgspec.MsgspecError:
        return None
    ours = metadata.application == APPLICATION and metadata.history_format == HISTORY_FORMAT
    return metadata if ours else None


def _batch(partition: int, rows: pa.RecordBatch) -> Batch:
    offsets = rows.column("offset").to_pylist()
    timestamps = rows.column("timestamp").cast(pa.int64()).to_pylist()
    return ColumnBatch(
        partition=partition,
        keys=rows.column("key").to_pylist(),
        values=rows.column("value").to_pylist(),
        offsets=offsets,
        timestamps=np.array(timestamps, np.int64) // 1000,
        headers=[_headers(each) for each in rows.column("headers").to_pylist()],
        next_offset=offsets[-1] + 1,
    )


def _headers(given: list[dict[str, bytes]] | None) -> Headers | None:
    return tuple((each["key"], each["value"]) for each in given) if given else None  # type: ignore[misc]
