"""What makes a topic unfit for a table, and how each finding says what to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lastword.errors import PartitionCountError, TopicUnfitError
from lastword.kafka.admin import PartitionInfo, TopicInfo
from lastword.topics.check import Finding, findings, require_fit

GOOD = {
    "cleanup.policy": "compact",
    "retention.ms": "604800000",
    "delete.retention.ms": "86400000",
    "min.compaction.lag.ms": "0",
    "min.insync.replicas": "2",
    "max.message.bytes": "1048588",
    "message.timestamp.type": "CreateTime",
    "unclean.leader.election.enable": "false",
}
TOPIC = TopicInfo(
    name="users",
    topic_id="id",
    partitions=2,
    replication=3,
    layout=tuple(PartitionInfo(p, 1, (1, 2, 3), (1, 2, 3)) for p in range(2)),
)


def one_finding(setting: str, value: str, **options: object) -> Finding:
    found = findings(TOPIC, GOOD | {setting: value}, brokers=3, **options)  # type: ignore[arg-type]
    assert [each.setting for each in found] == [setting]
    return found[0]


def test_a_good_topic_has_no_findings() -> None:
    assert findings(TOPIC, GOOD, brokers=3, partitions=2) == []


@pytest.mark.parametrize(
    ("setting", "value", "severity", "consequence", "repair"),
    [
        ("cleanup.policy", "delete", "error", "within 7 days is lost", "cleanup.policy=compact"),
        ("cleanup.policy", "compact,delete", "error", "allow_expiry", "cleanup.policy=compact"),
        ("min.insync.replicas", "4", "error", "every write is refused", "min.insync.replicas=2"),
        ("min.insync.replicas", "1", "warning", "lost with that broker", "min.insync.replicas=2"),
        ("delete.retention.ms", "100", "warning", "0.1 s behind", "delete.retention.ms=86400000"),
        ("min.compaction.lag.ms", "604800000", "warning", "7 days", "min.compaction.lag.ms=0"),
        ("max.message.bytes", "1000", "warning", "refused", "max.message.bytes=1048588"),
        ("message.timestamp.type", "LogAppendTime", "warning", "replaces", "=CreateTime"),
        ("unclean.leader.election.enable", "true", "warning", "lost", "enable=false"),
    ],
)
def test_each_bad_setting_is_found_with_its_consequence_and_repair(
    setting: str, value: str, severity: str, consequence: str, repair: str
) -> None:
    found = one_finding(setting, value)
    assert (found.severity, found.found) == (severity, value)
    assert consequence in found.consequence
    assert found.repair.startswith("lastword topic alter users --config ")
    assert repair in found.repair


def test_deleting_by_age_is_accepted_with_allow_expiry() -> None:
    found = findings(TOPIC, GOOD | {"cleanup.policy": "compact,delete"}, allow_expiry=True)
    assert found == []


def test_asking_for_deletes_by_age_does_not_excuse_a_topic_that_never_compacts() -> None:
    assert one_finding("cleanup.policy", "delete", allow_expiry=True).severity == "error"


def test_a_minute_of_retention_is_enough() -> None:
    assert findings(TOPIC, GOOD | {"delete.retention.ms": "60000"}) == []


def test_another_partition_count_is_an_error_that_no_setting_repairs() -> None:
    (found,) = findings(TOPIC, GOOD, partitions=5)
    assert (found.setting, found.found, found.wanted) == ("partitions", "2", "5")
    assert "lastword topic create users-5 --partitions 5" in found.repair
    with pytest.raises(PartitionCountError, match="partitions is 2, wanted 5"):
        require_fit("users", [found])


def test_one_replica_is_a_risk_only_where_there_could_be_more() -> None:
    single = replace(TOPIC, replication=1)
    settings = GOOD | {"min.insync.replicas": "1"}
    assert findings(single, settings, brokers=1) == []
    (found,) = findings(single, settings, brokers=3)
    assert (found.setting, found.wanted, found.severity) == ("replication", "3", "warning")


def test_a_partition_without_a_leader_is_an_error_that_names_the_brokers_to_start() -> None:
    headless = replace(TOPIC, layout=(TOPIC.layout[0], PartitionInfo(1, None, (2, 3), ())))
    (found,) = findings(headless, GOOD)
    assert (found.setting, found.severity) == ("leader", "error")
    assert "partition 1" in found.found
    assert "2, 3" in found.repair


def test_errors_come_before_warnings_and_make_a_topic_unfit() -> None:
    bad = GOOD | {"delete.retention.ms": "100", "cleanup.policy": "delete"}
    found = findings(TOPIC, bad)
    assert [each.severity for each in found] == ["error", "warning"]
    with pytest.raises(TopicUnfitError, match=r"cleanup\.policy is delete") as caught:
        require_fit("users", found)
    assert caught.value.hint == "lastword topic alter users --config cleanup.policy=compact"


def test_warnings_alone_let_a_topic_pass() -> None:
    risky = one_finding("delete.retention.ms", "100")
    assert risky.severity == "warning"
    require_fit("users", [risky])  # raises nothing
