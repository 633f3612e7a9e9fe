"""Whether the next snapshot can build on the last one, and what it has to read."""

from __future__ import annotations

from dataclasses import dataclass

from lastword.replicas.topic.topic_state import TopicState
from lastword.snapshots.catalog.snapshot import Snapshot, SnapshotKind, why_unusable


@dataclass(frozen=True)
class SnapshotPlan:
    """The offsets to read of each partition, from ``starts`` to ``ends``.

    ``base`` is what the changes are merged into; None for a full snapshot.
    """

    kind: SnapshotKind
    reason: str
    base: Snapshot | None
    number: int
    starts: dict[int, int]
    ends: dict[int, int]
    read_since_ms: int

    @property
    def changed(self) -> list[int]:
        """The partitions with records to read."""
        return sorted(p for p, end in self.ends.items() if self.starts[p] < end)


def plan_snapshot(
    newest: Snapshot | None,
    topic_state: TopicState,
    *,
    key_codec: str,
    key_suffix_bytes: int,
    value_codec: str,
    now_ms: int,
    torn: str | None,
    full: bool,
) -> SnapshotPlan:
    """Cut at the last stable offset of each partition: below it nothing is undecided.

    ``torn`` is why the newest snapshot no longer belongs to this log, or None. Nothing beyond the
    cut can have been cleaned when the topic state was read, so a tombstone there lives for at least
    ``delete.retention.ms`` after that.
    """
    ends = dict(topic_state.stable_ends)
    codecs = (key_codec, value_codec)
    reason = _why_full(newest, topic_state, codecs, key_suffix_bytes, now_ms, full=full) or torn
    number = 0 if newest is None else newest.metadata.number + 1
    if newest is None or reason is not None:
        starts = dict(topic_state.starts)
        return SnapshotPlan("full", reason or "", None, number, starts, ends, topic_state.at_ms)
    metadata = newest.metadata
    return SnapshotPlan(
        "incremental",
        f"building on snapshot {metadata.number}",
        newest,
        number,
        dict(metadata.offsets),
        ends,
        metadata.captured_at_ms,
    )


def _why_full(
    newest: Snapshot | None,
    topic_state: TopicState,
    codecs: tuple[str, str],
    key_suffix_bytes: int,
    now_ms: int,
    *,
    full: bool,
) -> str | None:
    if full:
        return "it was asked for"
    if newest is None:
        return "it is the first one"
    if (newest.metadata.key_codec, newest.metadata.value_codec) != codecs:
        return "the codecs are others than those of the last one"
    reason = why_unusable(newest, topic_state, now_ms, key_suffix_bytes)
    if reason is None and any(
        newest.metadata.offsets[p] > topic_state.stable_ends[p]
        for p in range(topic_state.partitions)
    ):
        return "the log ends before the last one"
    return None if reason is None else f"of the last one: {reason}"
