"""The progress of compaction in each partition, and what the log still holds.

Brokers report only offsets and sizes to clients. The cleaner's progress is in the broker's own
files, so for a broker on another machine it is None: unknown, not 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lastword.broker.info import NodeInfo
from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.kafka.admin import Admin, PartitionInfo
from lastword.kafka.admin.log_dirs import replica_sizes
from lastword.kafka.admin.offsets import LogBounds
from lastword.topics.cleanability import Cleanability, cleanability
from lastword.topics.cleaner_log import CleanerRun, last_run, was_marked_uncleanable
from lastword.topics.partition_files import PartitionFiles, read_partition_files
from lastword.topics.survey import PartitionContents, Survey


@dataclass(frozen=True)
class CleanerState:
    """What the cleaner has done and would do next in one partition of a local broker."""

    files: PartitionFiles
    now: Cleanability
    last_run: CleanerRun | None
    given_up: bool

    @property
    def segments(self) -> int:
        """How many files the log has, the active one included."""
        return len(self.files.segments)


@dataclass(frozen=True)
class PartitionCompaction:
    """One partition, as seen at its leader. None means unknown.

    ``stable_end`` lies before ``log_end`` while a transaction is open.
    """

    partition: int
    leader: int | None
    log_start: int
    log_end: int
    stable_end: int
    size_bytes: int | None
    contents: PartitionContents | None
    cleaner: CleanerState | None


def compaction(
    admin: Admin,
    topic: str,
    *,
    local_nodes: Iterable[NodeInfo] = (),
    survey: Survey | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> list[PartitionCompaction]:
    """The state of every partition.

    ``local_nodes`` are the brokers of this cluster that run on this machine. Without a ``survey``
    (see ``survey_topic``) the records are not counted.
    """
    info = admin.describe(topic)
    partitions = range(info.partitions)
    settings = admin.settings(topic)
    bounds = admin.bounds(topic, partitions)
    sizes = {
        (size.partition, size.broker): size.size_bytes
        for size in replica_sizes(admin.connection, topic, info.partitions)
    }
    nodes = {node.id: node for node in local_nodes}
    found = []
    for each in info.layout:
        p = each.partition
        at = bounds[p]
        state = None
        if each.leader in nodes:
            state = _cleaner_state(
                nodes[each.leader],
                topic,
                each,
                settings,
                bounds=at,
                now_ms=clock.now_ms(),
            )
        found.append(
            PartitionCompaction(
                partition=p,
                leader=each.leader,
                log_start=at.start,
                log_end=at.end,
                stable_end=at.stable_end,
                size_bytes=None if each.leader is None else sizes.get((p, each.leader)),
                contents=None if survey is None else survey.contents.get(p),
                cleaner=state,
            )
        )
    return found


def _cleaner_state(
    node: NodeInfo,
    topic: str,
    partition: PartitionInfo,
    settings: Mapping[str, str],
    *,
    bounds: LogBounds,
    now_ms: int,
) -> CleanerState | None:
    files = read_partition_files(node, topic, partition.partition)
    if files is None:
        return None
    return CleanerState(
        files=files,
        now=cleanability(
            files,
            settings,
            log_start=bounds.start,
            log_end=bounds.end,
            stable_end=bounds.stable_end,
            now_ms=now_ms,
        ),
        last_run=last_run(node.log_file, topic, partition.partition),
        given_up=was_marked_uncleanable(node.log_file, topic, partition.partition),
    )
