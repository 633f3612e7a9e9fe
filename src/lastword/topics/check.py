"""Whether a topic is fit for a table, and how to repair it if not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lastword.errors import (
    ConnectionFailedError,
    LastwordError,
    PartitionCountError,
    TopicUnfitError,
)
from lastword.kafka.admin import Admin, TopicInfo

RETENTION_MS_MIN = 60_000
"""A table that lags behind for longer than this may miss deletes; a minute is a restart."""

RECORD_BYTES_MAX = 1_000_000
"""The largest record that a writer accepts; librdkafka's message.max.bytes."""

DAY_MS = 86_400_000

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """One setting that is not as a table needs it.

    An ``error`` would lose or corrupt data, so a table refuses the topic; a ``warning`` names a
    risk. ``repair`` is a command line.
    """

    setting: str
    found: str
    wanted: str
    severity: Severity
    consequence: str
    repair: str

    def __str__(self) -> str:
        return f"{self.setting} is {self.found}, wanted {self.wanted}: {self.consequence}"


def check_topic(
    admin: Admin, topic: str, *, partitions: int | None = None, allow_expiry: bool = False
) -> list[Finding]:
    """What is wrong with the topic, errors first; an empty list means it is fit.

    ``partitions`` is the number it should have. ``allow_expiry`` accepts ``compact,delete``: rows
    then disappear from the table when their segment grows old.
    """
    info = admin.describe(topic)
    settings = admin.settings(topic)
    brokers = len(admin.brokers())
    return findings(
        info, settings, brokers=brokers, partitions=partitions, allow_expiry=allow_expiry
    )


_KINDS: dict[str, type[LastwordError]] = {
    "partitions": PartitionCountError,
    "leader": ConnectionFailedError,  # the topic is fit; a broker is away
}


def require_fit(topic: str, found: Sequence[Finding]) -> None:
    """Raise for the first error among the findings; warnings pass."""
    for finding in found:
        if finding.severity == "error":
            kind = _KINDS.get(finding.setting, TopicUnfitError)
            raise kind(f"{topic!r} is not fit for a table: {finding}", hint=finding.repair)


def findings(
    info: TopicInfo,
    settings: Mapping[str, str],
    *,
    brokers: int = 1,
    partitions: int | None = None,
    allow_expiry: bool = False,
) -> list[Finding]:
    """The same without a request, for known settings."""
    found = [
        *_policy(info.name, settings, allow_expiry),
        *_partitions(info, partitions),
        *_replication(info, settings, brokers),
        *_tombstones(info.name, settings),
        *_records(info.name, settings),
        *_elections(info.name, settings),
    ]
    return sorted(found, key=lambda finding: finding.severity != "error")


def _policy(name: str, settings: Mapping[str, str], allow_expiry: bool) -> Iterator[Finding]:
    policies = {policy.strip() for policy in settings["cleanup.policy"].split(",")}
    days = int(settings["retention.ms"]) / DAY_MS
    repair = _alter(name, "cleanup.policy", "compact")
    if "compact" not in policies:
        yield Finding(
            "cleanup.policy",
            settings["cleanup.policy"],
            "compact",
            "error",
            f"every key that is not written again within {days:g} days is lost",
            repair,
        )
    elif "delete" in policies and not allow_expiry:
        yield Finding(
            "cleanup.policy",
            settings["cleanup.policy"],
            "compact",
            "error",
            f"keys disappear {days:g} days after their last write, which is rarely meant; a table "
            "accepts it when opened with allow_expiry",
            repair,
        )


def _partitions(info: TopicInfo, expected: int | None) -> Iterator[Finding]:
    if expected is not None and info.partitions != expected:
        yield Finding(
            "partitions",
            str(info.partitions),
            str(expected),
            "error",
            "keys would be looked up in other partitions than those they were written to",
            f"lastword topic create {info.name}-{expected} --partitions {expected}  "
            "# and copy the records; a topic's partitions cannot be changed back",
        )
    for partition in info.layout:
        if partition.leader is None:
            yield Finding(
                "leader",
                f"none for partition {partition.partition}",
                "one for each partition",
                "error",
                "the partition can be neither read nor written",
                f"lastword topic describe {info.name}  "
                f"# and start one of the brokers {_ids(partition.replicas)}",
            )


def _replication(info: TopicInfo, settings: Mapping[str, str], brokers: int) -> Iterator[Finding]:
    in_sync_min = int(settings["min.insync.replicas"])
    if info.replication == 1 and brokers > 1:
        wanted = min(brokers, 3)
        yield Finding(
            "replication",
            "1",
            str(wanted),
            "warning",
            "the table is lost with the disk of one broker, and stops with the broker",
            f"kafka-reassign-partitions.sh  # or: lastword topic create --replication {wanted}",
        )
    if in_sync_min > info.replication:
        yield Finding(
            "min.insync.replicas",
            str(in_sync_min),
            f"{info.replication} or less",
            "error",
            f"every write is refused, because there are only {info.replication} replicas",
            _alter(info.name, "min.insync.replicas", str(max(1, info.replication - 1))),
        )
    elif info.replication > 1 and in_sync_min < 2:
        yield Finding(
            "min.insync.replicas",
            str(in_sync_min),
            "2",
            "warning",
            "a write is acknowledged when one broker has it, and is lost with that broker",
            _alter(info.name, "min.insync.replicas", "2"),
        )


def _tombstones(name: str, settings: Mapping[str, str]) -> Iterator[Finding]:
    retention_ms = int(settings["delete.retention.ms"])
    if retention_ms < RETENTION_MS_MIN:
        yield Finding(
            "delete.retention.ms",
            str(retention_ms),
            f"{RETENTION_MS_MIN} or more",
            "warning",
            f"a reader that is {retention_ms / 1000:g} s behind may miss a delete; the table "
            "finds out by reading the log twice, and is marked stale until it has",
            _alter(name, "delete.retention.ms", str(DAY_MS)),
        )
    lag_ms = int(settings["min.compaction.lag.ms"])
    if lag_ms > DAY_MS:
        yield Finding(
            "min.compaction.lag.ms",
            str(lag_ms),
            f"{DAY_MS} or less",
            "warning",
            f"superseded records stay for {lag_ms / DAY_MS:g} days, and every restore reads them",
            _alter(name, "min.compaction.lag.ms", "0"),
        )


def _records(name: str, settings: Mapping[str, str]) -> Iterator[Finding]:
    bytes_max = int(settings["max.message.bytes"])
    if bytes_max < RECORD_BYTES_MAX:
        yield Finding(
            "max.message.bytes",
            str(bytes_max),
            f"{RECORD_BYTES_MAX} or more",
            "warning",
            "records that a writer accepts are refused by the broker",
            _alter(name, "max.message.bytes", "1048588"),
        )
    if settings["message.timestamp.type"] == "LogAppendTime":
        yield Finding(
            "message.timestamp.type",
            "LogAppendTime",
            "CreateTime",
            "warning",
            "the broker replaces the timestamps that a put gives",
            _alter(name, "message.timestamp.type", "CreateTime"),
        )


def _elections(name: str, settings: Mapping[str, str]) -> Iterator[Finding]:
    if settings["unclean.leader.election.enable"] == "true":
        yield Finding(
            "unclean.leader.election.enable",
            "true",
            "false",
            "warning",
            "a replica that lacks acknowledged records may become leader; they are then lost, and "
            "tables rebuild themselves",
            _alter(name, "unclean.leader.election.enable", "false"),
        )


def _alter(name: str, setting: str, value: str) -> str:
    return f"lastword topic alter {name} --config {setting}={value}"


def _ids(brokers: Sequence[int]) -> str:
    return ", ".join(map(str, brokers))
