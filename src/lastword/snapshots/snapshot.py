"""What is known of one snapshot: written into the same Delta commit as its rows."""

from __future__ import annotations

from typing import Literal

import msgspec

from lastword.follow.facts import TopicFacts
from lastword.follow.looks import Look
from lastword.follow.retention import may_have_missed_deletes
from lastword.records import Position

SNAPSHOT_FORMAT = 1
APPLICATION = "lastword"
_ANSWERED_WITHIN_MS = 60_000

Kind = Literal["full", "incremental"]


class SnapshotNote(msgspec.Struct, frozen=True, kw_only=True):
    """Which log was cut where and when; the user metadata of a Delta commit, as JSON.

    ``captured_at_ms`` is just before the position was asked for. ``read_since_ms`` is the moment
    since which no tombstone may have gone unseen: where the reading of a full snapshot began, or
    the capture of the one that an incremental one builds on. ``known_at_ms`` is when the position
    had been answered. Older notes have neither that nor the lag and the epochs of the leaders.
    """

    number: int
    run_id: str
    kind: Kind
    topic: str
    topic_id: str
    cluster_id: str
    offsets: dict[int, int]
    captured_at_ms: int
    read_since_ms: int
    delete_retention_ms: int
    key_codec: str
    value_codec: str
    keep_ms: int
    known_at_ms: int = 0
    compaction_lag_ms: int = 0
    leader_epochs: dict[int, int] = {}
    application: str = APPLICATION
    snapshot_format: int = SNAPSHOT_FORMAT


_decode = msgspec.json.Decoder(SnapshotNote).decode


def encode_note(note: SnapshotNote) -> str:
    """The text that goes into the commit."""
    return msgspec.json.encode(note).decode()


def decode_note(text: str | None) -> SnapshotNote | None:
    """The note, or None when the commit is not one of ours or of a format unknown here."""
    try:
        note = _decode(text or "")
    except msgspec.MsgspecError:
        return None
    ours = note.application == APPLICATION and note.snapshot_format == SNAPSHOT_FORMAT
    return note if ours else None


class Confirmation(msgspec.Struct, frozen=True, kw_only=True):
    """The user metadata of a commit after a snapshot's own: the run of ``confirms`` was exact."""

    confirms: str
    application: str = APPLICATION
    snapshot_format: int = SNAPSHOT_FORMAT


_decode_confirmation = msgspec.json.Decoder(Confirmation).decode


def decode_confirmation(text: str | None) -> str | None:
    """The run whose snapshot is exact, or None when the commit says nothing like that."""
    try:
        found = _decode_confirmation(text or "")
    except msgspec.MsgspecError:
        return None
    ours = found.application == APPLICATION and found.snapshot_format == SNAPSHOT_FORMAT
    return found.confirms if ours else None


class Snapshot(msgspec.Struct, frozen=True):
    """A committed snapshot: its note, the version of the Delta table, and when that was.

    ``exact``: it is known to be what the table was at its position. One that is not may lack a
    key that was written again while it was made; starting from it is all right.
    """

    note: SnapshotNote
    version: int
    committed_at_ms: int
    exact: bool = False

    @property
    def position(self) -> Position:
        """Everything below it is in the snapshot, and nothing else."""
        return Position(self.note.offsets)

    @property
    def look(self) -> Look:
        """What the job saw of the topic's settings."""
        note = self.note
        known_at_ms = note.known_at_ms or note.captured_at_ms + _ANSWERED_WITHIN_MS
        return Look(note.captured_at_ms, known_at_ms, note.offsets, note.compaction_lag_ms)

    @property
    def sound(self) -> bool:
        """Whether no delete can have been missed while the log was read."""
        read_for_ms = self.committed_at_ms - self.note.read_since_ms
        return not may_have_missed_deletes(read_for_ms, self.note.delete_retention_ms)


def why_unusable(snapshot: Snapshot, facts: TopicFacts, now_ms: int) -> str | None:
    """Why a store must not be filled from the snapshot, nor the next one built on it."""
    note = snapshot.note
    if note.cluster_id != facts.cluster_id:
        return f"it is of another cluster, {note.cluster_id}"
    if note.topic_id != facts.topic_id:
        return "the topic was deleted and created again since"
    if len(note.offsets) != facts.partitions:
        return f"the topic has {facts.partitions} partitions now, and had {len(note.offsets)}"
    if not snapshot.sound:
        return "reading its log took longer than delete.retention.ms: deletes may be missing"
    retention_ms = min(note.delete_retention_ms, facts.delete_retention_ms)
    if may_have_missed_deletes(now_ms - note.captured_at_ms, retention_ms):
        return "it is older than delete.retention.ms: later deletes may be gone from the log"
    return _why_out_of_range(note, facts)


def _why_out_of_range(note: SnapshotNote, facts: TopicFacts) -> str | None:
    for partition, offset in note.offsets.items():
        start, end = facts.starts[partition], facts.ends[partition]
        if not start <= offset <= end:
            return f"partition {partition} is now from {start} to {end}, without its {offset}"
    return None
