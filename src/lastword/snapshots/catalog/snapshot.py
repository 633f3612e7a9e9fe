"""The metadata of a snapshot, in the same Delta commit as its rows."""

from __future__ import annotations

import re
from typing import Annotated, Literal

import msgspec

from lastword.codecs.defaults import WholeKey
from lastword.codecs.resolve import CODEC_NAMES
from lastword.codecs.windowed import SessionCodec, WindowedCodec
from lastword.records import Position
from lastword.replicas.sweep.retention import may_have_missed_deletes
from lastword.replicas.topic.protection import ObservedProtection
from lastword.replicas.topic.topic_state import TopicState

SNAPSHOT_FORMAT = 1
APPLICATION = "lastword"
_ANSWERED_WITHIN_MS = 60_000

_CODEC_KIND = re.compile(r"\w+")  # of `windowed(string)`, `json[User]` or `int64`
_SUFFIX_BYTES = {
    **dict.fromkeys((*CODEC_NAMES, "composite"), WholeKey.suffix_bytes),
    "windowed": WindowedCodec.suffix_bytes,
    "session": SessionCodec.suffix_bytes,
}

SnapshotKind = Literal["full", "incremental"]
Offset = Annotated[int, msgspec.Meta(ge=0)]


class SnapshotMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """Which log was cut where and when; the user metadata of a Delta commit, as JSON.

    ``captured_at_ms`` is just before the position was asked for. ``read_since_ms`` is the moment
    since which no tombstone may be missed: the start of reading a full snapshot, or the capture of
    the base of an incremental one. ``answered_at_ms`` is when the position had been answered. Older
    snapshots have neither that nor the lag nor the epochs of the leaders.

    ``key_suffix_bytes`` is how many bytes at the end of a key did not decide its partition. It
    decides which records the snapshot holds: a record in the wrong partition is dropped. Older
    snapshots do not have it; ``suffix_bytes`` derives it from the codec's name.
    """

    number: int
    run_id: str
    kind: SnapshotKind
    topic: str
    topic_id: str
    cluster_id: str
    offsets: dict[int, Offset]
    captured_at_ms: int
    read_since_ms: int
    delete_retention_ms: int
    key_codec: str
    value_codec: str
    keep_ms: int
    answered_at_ms: int = msgspec.field(default=0, name="known_at_ms")
    compaction_lag_ms: int = 0
    leader_epochs: dict[int, int] = {}
    key_suffix_bytes: int | None = None
    application: str = APPLICATION
    snapshot_format: int = SNAPSHOT_FORMAT

    @property
    def suffix_bytes(self) -> int | None:
        """The same; None where neither the metadata nor the codec's name says it."""
        if self.key_suffix_bytes is not None:
            return self.key_suffix_bytes
        kind = _CODEC_KIND.match(self.key_codec)
        return None if kind is None else _SUFFIX_BYTES.get(kind[0])


_decode = msgspec.json.Decoder(SnapshotMetadata).decode


def encode_metadata(metadata: SnapshotMetadata) -> str:
    """The text that goes into the commit."""
    return msgspec.json.encode(metadata).decode()


def decode_metadata(text: str | None) -> SnapshotMetadata | None:
    """The metadata, or None if the commit has none, or in an unknown format."""
    try:
        metadata = _decode(text or "")
    except msgspec.MsgspecError:
        return None
    ours = metadata.application == APPLICATION and metadata.snapshot_format == SNAPSHOT_FORMAT
    return metadata if ours else None


class Confirmation(msgspec.Struct, frozen=True, kw_only=True):
    """The user metadata of a commit after a snapshot's own: the run of ``confirms`` was exact."""

    confirms: str
    application: str = APPLICATION
    snapshot_format: int = SNAPSHOT_FORMAT


_decode_confirmation = msgspec.json.Decoder(Confirmation).decode


def decode_confirmation(text: str | None) -> str | None:
    """The run whose snapshot is exact, or None if the commit is not a confirmation."""
    try:
        found = _decode_confirmation(text or "")
    except msgspec.MsgspecError:
        return None
    ours = found.application == APPLICATION and found.snapshot_format == SNAPSHOT_FORMAT
    return found.confirms if ours else None


class Snapshot(msgspec.Struct, frozen=True):
    """A committed snapshot: its metadata, the version of the Delta table, and when that was.

    ``exact``: it is known to be what the table was at its position. A snapshot that is not may lack
    a key that was written again meanwhile; a table can still start from it.
    """

    metadata: SnapshotMetadata
    delta_version: int
    committed_at_ms: int
    exact: bool = False

    @property
    def position(self) -> Position:
        """Everything below it is in the snapshot, and nothing else."""
        return Position(self.metadata.offsets)

    @property
    def protection(self) -> ObservedProtection:
        """The topic's settings as the job observed them."""
        metadata = self.metadata
        answered_at_ms = metadata.answered_at_ms or metadata.captured_at_ms + _ANSWERED_WITHIN_MS
        return ObservedProtection(
            metadata.captured_at_ms, answered_at_ms, metadata.offsets, metadata.compaction_lag_ms
        )

    @property
    def sound(self) -> bool:
        """Whether no delete can have been missed while the log was read."""
        read_for_ms = self.committed_at_ms - self.metadata.read_since_ms
        return not may_have_missed_deletes(read_for_ms, self.metadata.delete_retention_ms)


def why_another_table(
    metadata: SnapshotMetadata, topic_state: TopicState, key_suffix_bytes: int
) -> str | None:
    """Why the rows are not those of a table of this log with these keys."""
    if metadata.cluster_id != topic_state.cluster_id:
        return f"it belongs to another cluster, {metadata.cluster_id}"
    if metadata.topic_id != topic_state.topic_id:
        return "the topic was deleted and created again since"
    if len(metadata.offsets) != topic_state.partitions:
        had, has = len(metadata.offsets), topic_state.partitions
        return f"the topic has {has} partitions now, and had {had}"
    if metadata.suffix_bytes is None:
        return f"it does not say which part of a {metadata.key_codec} key decides its partition"
    if metadata.suffix_bytes != key_suffix_bytes:
        return f"it was taken with {metadata.key_codec} keys, which belong to other partitions"
    return None


def why_unusable(
    snapshot: Snapshot, topic_state: TopicState, now_ms: int, key_suffix_bytes: int
) -> str | None:
    """Why a store must not be filled from the snapshot, nor the next one built on it."""
    metadata = snapshot.metadata
    if (reason := why_another_table(metadata, topic_state, key_suffix_bytes)) is not None:
        return reason
    if not snapshot.sound:
        return "reading its log took longer than delete.retention.ms: deletes may be missing"
    retention_ms = min(metadata.delete_retention_ms, topic_state.delete_retention_ms)
    if may_have_missed_deletes(now_ms - metadata.captured_at_ms, retention_ms):
        return "it is older than delete.retention.ms: later deletes may be gone from the log"
    return _why_out_of_range(metadata, topic_state)


def _why_out_of_range(metadata: SnapshotMetadata, topic_state: TopicState) -> str | None:
    for partition, offset in metadata.offsets.items():
        start, end = topic_state.starts[partition], topic_state.ends[partition]
        if not start <= offset <= end:
            return f"partition {partition} is now from {start} to {end}, without its {offset}"
    return None
