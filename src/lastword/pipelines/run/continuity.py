"""Checks, at the start of a run, whether a pipeline can continue from its last run."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from lastword.errors import PipelineError
from lastword.kafka.admin import Admin
from lastword.kafka.groups import Committed
from lastword.kafka.log.source import LogSource
from lastword.pipelines.graph.offset_metadata import decode_metadata, join_metadata
from lastword.pipelines.graph.task_plan import TaskPlan
from lastword.records import TopicPartition

log = logging.getLogger(__name__)


def starting_offsets(
    admin: Admin, plan: TaskPlan, committed: Mapping[TopicPartition, Committed]
) -> dict[str, dict[int, int]]:
    """Where to start in each source: at its committed position, else at the log's start."""
    offsets: dict[str, dict[int, int]] = {}
    for topic in plan.sources:
        starts = admin.start_offsets(topic, range(plan.partitions))
        offsets[topic] = starts
        for partition, start in starts.items():
            at = committed.get(TopicPartition(topic, partition))
            if at is not None and at.offset < start:
                log.warning(
                    "%s, partition %d: %d offsets were deleted before they were processed",
                    *(topic, partition, start - at.offset),
                )
            elif at is not None:
                starts[partition] = at.offset
    return offsets


def check_continuity(
    admin: Admin,
    log_source: LogSource,
    plan: TaskPlan,
    committed: Mapping[TopicPartition, Committed],
) -> None:
    """Raise PipelineError if results and positions do not belong together."""
    for partition in range(plan.partitions):
        places = [TopicPartition(topic, partition) for topic in plan.sources]
        known = {place: committed[place] for place in places if place in committed}
        reflected = join_metadata(each.metadata for each in known.values()).changelogs
        problem = _problem_with(plan, known)
        for store, changelog in (plan.changelogs | plan.tables).items():
            end = admin.end_offsets(changelog, [partition])[partition]
            if end < reflected.get(store, 0):
                raise PipelineError(
                    f"{changelog} was deleted and recreated, but the positions of "
                    f"{plan.application_id!r} say that it was read or written further",
                    hint=_START_ANEW,
                )
            if (
                problem is not None
                and store in plan.changelogs
                and end
                and _holds_records(admin, log_source, changelog, partition)
            ):
                raise PipelineError(f"{changelog} holds results, but {problem}", hint=_START_ANEW)


def _problem_with(plan: TaskPlan, known: Mapping[TopicPartition, Committed]) -> str | None:
    """Why the positions of one partition cannot belong to its results; None if they can.

    Every commit of the pipeline has metadata. A position without it was set by another program,
    and the metadata that it replaced, which said how far the changelogs belong to it, is lost.
    """
    if not known:
        return (
            f"the positions of {plan.application_id!r} are gone: brokers delete them "
            "offsets.retention.minutes after the last run"
        )
    for place, at in known.items():
        if decode_metadata(at.metadata) is None:
            return (
                f"the position of the group {plan.group!r} in {place.topic}, partition "
                f"{place.partition}, was not committed by this pipeline: another consumer of "
                "that group, or a tool that resets offsets, has replaced it"
            )
    return None


_START_ANEW = (
    "to recompute everything, delete the consumer group and the changelogs of this "
    "application, or give it another application id"
)


def _holds_records(admin: Admin, log_source: LogSource, changelog: str, partition: int) -> bool:
    """Whether anything was ever committed there; an aborted transaction leaves only offsets."""
    whole = admin.bounds(changelog, [partition])[partition]
    reading = log_source.read(changelog, {partition: (whole.start, whole.end)})
    try:
        return any(len(batch) for batch in reading)
    finally:
        reading.close()
