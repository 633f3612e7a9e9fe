"""Why a partition is not compacted further: each reason with its evidence and its remedy."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lastword.broker.info import NodeInfo
from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.errors import BrokerError, ConfigError
from lastword.kafka.admin import Admin
from lastword.kafka.admin.transactions import OpenTransaction, open_transactions
from lastword.topics.cleaner_gauges import CleanerGauges, cleaner_gauges
from lastword.topics.compaction import CleanerState, PartitionCompaction

log = logging.getLogger(__name__)

Cause = Literal[
    "policy",
    "cleaner off",
    "dead cleaner",
    "uncleanable",
    "open transaction",
    "min.compaction.lag.ms",
    "dirty ratio",
    "active segment",
    "due",
    "tombstones kept",
    "nothing to clean",
    "unknown",
]


@dataclass(frozen=True)
class Reason:
    """One reason. ``evidence`` has the numbers, ``remedy`` what to do; empty when nothing."""

    partition: int
    cause: Cause
    evidence: str
    remedy: str


@dataclass(frozen=True)
class DiagnosisInput:
    """What a diagnosis needs to know besides the partition itself.

    ``broker_settings`` and ``gauges`` are those of the leader, empty and None when unknown.
    """

    topic: str
    settings: Mapping[str, str]
    broker_settings: Mapping[str, str]
    gauges: CleanerGauges | None
    transactions: Sequence[OpenTransaction]
    now_ms: int

    def alter(self, setting: str, value: str) -> str:
        """The command that changes a setting of the topic."""
        return f"lastword topic alter {self.topic} --config {setting}={value}"


def diagnose_topic(
    admin: Admin,
    topic: str,
    partitions: Sequence[PartitionCompaction],
    *,
    local_nodes: Iterable[NodeInfo] = (),
    clock: Clock = SYSTEM_CLOCK,
) -> list[Reason]:
    """The reasons of each partition; asks the cluster for what is needed."""
    settings = admin.settings(topic)
    gauges = {node.id: _gauges(node) for node in local_nodes}
    blocked = [each.partition for each in partitions if each.stable_end < each.log_end]
    transactions = open_transactions(admin.connection, topic, blocked) if blocked else []
    brokers = {each.leader: _broker_settings(admin, each.leader) for each in partitions}
    reasons = []
    for each in partitions:
        around = DiagnosisInput(
            topic=topic,
            settings=settings,
            broker_settings=brokers[each.leader],
            gauges=None if each.leader is None else gauges.get(each.leader),
            transactions=transactions,
            now_ms=clock.now_ms(),
        )
        reasons += diagnose(each, around)
    return reasons


def _gauges(node: NodeInfo) -> CleanerGauges | None:
    try:
        return cleaner_gauges(node.metrics())
    except BrokerError as error:
        log.debug("the cleaner gauges of broker %d are unknown: %s", node.id, error)
        return None


def _broker_settings(admin: Admin, broker: int | None) -> dict[str, str]:
    if broker is None:
        return {}
    try:
        return {name: setting.value for name, setting in admin.broker_settings(broker).items()}
    except ConfigError as error:  # not everyone may read a broker's settings
        log.debug("the settings of broker %d are unknown: %s", broker, error)
        return {}


def diagnose(partition: PartitionCompaction, around: DiagnosisInput) -> list[Reason]:
    """Why this partition is not compacted further, the main reason first; never empty."""
    reasons = [
        *_policy(partition, around),
        *_cleaner_health(partition, around),
        *_open_transaction(partition, around),
    ]
    if partition.cleaner is not None:
        reasons += _by_state(partition, partition.cleaner, around)
    elif not reasons and _nothing_left(partition):
        reasons.append(_nothing_to_clean(partition))
    elif not reasons:
        reasons.append(_unknown(partition, around))
    return reasons or [_nothing_to_clean(partition)]


def _policy(partition: PartitionCompaction, around: DiagnosisInput) -> Iterator[Reason]:
    policy = around.settings["cleanup.policy"]
    if "compact" not in policy:
        yield Reason(
            partition.partition,
            "policy",
            f"cleanup.policy is {policy}, so the cleaner skips this topic",
            around.alter("cleanup.policy", "compact"),
        )


def _cleaner_health(partition: PartitionCompaction, around: DiagnosisInput) -> Iterator[Reason]:
    if around.broker_settings.get("log.cleaner.enable") == "false":
        yield Reason(
            partition.partition,
            "cleaner off",
            f"broker {partition.leader} runs with log.cleaner.enable=false",
            "set log.cleaner.enable=true and restart the broker",
        )
    if around.gauges is not None and around.gauges.dead_threads:
        yield Reason(
            partition.partition,
            "dead cleaner",
            f"{around.gauges.dead_threads} cleaner thread(s) of broker {partition.leader} died",
            "read why in the broker's log (lastword broker log), then restart the broker",
        )
    if partition.cleaner is not None and partition.cleaner.given_up:
        yield Reason(
            partition.partition,
            "uncleanable",
            f"broker {partition.leader} met an error in this partition and marked it uncleanable",
            "read which in the broker's log (lastword broker log), then restart the broker",
        )


def _open_transaction(partition: PartitionCompaction, around: DiagnosisInput) -> Iterator[Reason]:
    """A transaction blocks the cleaner only if it starts before the active segment."""
    if partition.stable_end == partition.log_end:
        return
    state = partition.cleaner
    if state is not None and state.now.limit != "open transaction":
        return
    named = [each for each in around.transactions if each.partition == partition.partition]
    who = named[0].describe(around.now_ms) if named else "a transaction"
    limit_ms = named[0].timeout_ms if named else None
    wait = "" if limit_ms is None else f"its producer has {limit_ms / 1000:g} s to end it; or "
    yield Reason(
        partition.partition,
        "open transaction",
        f"{who} keeps offsets {partition.stable_end} to {partition.log_end - 1} from readers and "
        "from the cleaner",
        f"{wait}stop its producer, or abort it: kafka-transactions.sh abort --topic "
        f"{around.topic} --partition {partition.partition} --start-offset {partition.stable_end}",
    )


def _by_state(
    partition: PartitionCompaction, state: CleanerState, around: DiagnosisInput
) -> Iterator[Reason]:
    if "compact" not in around.settings["cleanup.policy"]:
        return
    p, now, settings = partition.partition, state.now, around.settings
    if now.limit == "min.compaction.lag.ms":
        yield Reason(
            p,
            "min.compaction.lag.ms",
            f"records from offset {now.first_uncleanable_offset} on are younger than "
            f"{settings['min.compaction.lag.ms']} ms and must stay",
            around.alter("min.compaction.lag.ms", "0"),
        )
    if now.due:
        backoff = around.broker_settings.get("log.cleaner.backoff.ms", "15000")
        yield Reason(
            p,
            "due",
            f"{now.cleanable_bytes} bytes can be cleaned ({now.dirty_ratio:.0%} dirty); the "
            f"cleaner looks every {backoff} ms and takes the dirtiest log first",
            "wait, or give the broker more log.cleaner.threads",
        )
    elif now.cleanable_bytes > 0:
        yield Reason(
            p,
            "dirty ratio",
            f"{now.dirty_ratio:.1%} of the closed segments is new since the last clean, "
            f"and min.cleanable.dirty.ratio asks for more than "
            f"{float(settings['min.cleanable.dirty.ratio']):.1%}",
            around.alter("min.cleanable.dirty.ratio", "0.01"),
        )
    if _active_segment_matters(partition, state):
        yield _active_segment(partition, state, around)
    if partition.contents is not None and _only_tombstones(partition, state):
        yield Reason(
            p,
            "tombstones kept",
            f"{partition.contents.tombstones} tombstone(s) stay for delete.retention.ms="
            f"{settings['delete.retention.ms']} after they were first cleaned, so that slow "
            "readers see them",
            "wait; a later cleaning removes them",
        )


def _active_segment_matters(partition: PartitionCompaction, state: CleanerState) -> bool:
    """Whether records that could be removed are in the active segment."""
    in_active = partition.log_end > state.files.active.base_offset
    superseded = partition.contents is None or partition.contents.duplicates > 0
    return in_active and superseded and state.now.limit == "active segment"


def _active_segment(
    partition: PartitionCompaction, state: CleanerState, around: DiagnosisInput
) -> Reason:
    active = state.files.active
    roll_ms = min(int(around.settings["segment.ms"]), int(around.settings["max.compaction.lag.ms"]))
    return Reason(
        partition.partition,
        "active segment",
        f"offsets {active.base_offset} to {partition.log_end - 1} ({active.size_bytes} bytes) are "
        "in the active segment, which is never cleaned",
        f"it closes when a record is written more than {roll_ms} ms (segment.ms) after its "
        f"first one, or at {around.settings['segment.bytes']} bytes: write something, or "
        + around.alter("segment.ms", "10000"),
    )


def _only_tombstones(partition: PartitionCompaction, state: CleanerState) -> bool:
    contents = partition.contents
    return (
        contents is not None
        and contents.tombstones > 0
        and contents.duplicates == 0
        and state.now.cleanable_bytes == 0
        and state.files.cleaned_until is not None
    )


def _unknown(partition: PartitionCompaction, around: DiagnosisInput) -> Reason:
    settings = around.settings
    return Reason(
        partition.partition,
        "unknown",
        f"the files of broker {partition.leader} are out of reach, and brokers do not tell how far "
        "they have cleaned; this one cleans closed segments "
        f"(segment.ms={settings['segment.ms']}) once more than "
        f"{float(settings['min.cleanable.dirty.ratio']):.0%} of them is new",
        "look at cleaner-offset-checkpoint in the broker's log directory, or at its metric "
        "max-dirty-percent",
    )


def _nothing_left(partition: PartitionCompaction) -> bool:
    contents = partition.contents
    if partition.log_start == partition.log_end:
        return True
    return contents is not None and contents.duplicates == 0 and contents.tombstones == 0


def _nothing_to_clean(partition: PartitionCompaction) -> Reason:
    counted = ""
    if partition.contents is not None:
        counted = f": {partition.contents.records} records, no two of the same key"
    return Reason(partition.partition, "nothing to clean", f"the log is compact{counted}", "")
