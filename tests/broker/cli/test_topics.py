"""topic create, list, describe, check, alter, delete, compaction and partition."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from lastword.broker.embedded import EmbeddedBroker
from lastword.broker.info import write_info
from lastword.clock import SYSTEM_CLOCK
from lastword.testing.waiting import wait_until

if TYPE_CHECKING:
    from tests.broker.cli.conftest import Lastword


@pytest.fixture
def local_broker(broker: EmbeddedBroker, tmp_path: Path) -> EmbeddedBroker:
    """The session's broker, as if this home had started it."""
    directory = tmp_path / "home" / "broker"
    directory.mkdir(parents=True)
    write_info(directory, broker.info)
    return broker


def produce(broker: EmbeddedBroker, topic: str, *records: tuple[str, str | None, int]) -> None:
    """Key, value and how many seconds from now, to partition 0."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    now_ms = SYSTEM_CLOCK.now_ms()
    for key, value, seconds in records:
        producer.produce(
            topic,
            value and value.encode(),
            key.encode(),
            partition=0,
            timestamp=now_ms + 1000 * seconds,
        )
        producer.flush()


def test_a_topic_lives_from_create_to_delete(lastword: Lastword, topic_name: str) -> None:
    (created,) = lastword.json(
        *("topic", "create", topic_name, "--partitions", "2", "--profile", "aggressive"),
        *("--config", "delete.retention.ms=100", "--config", "segment.ms = 20000"),
    )
    assert (created["topic"], created["partitions"]) == (topic_name, 2)
    assert created["settings"]["segment.ms"] == "20000"
    assert created["settings"]["min.cleanable.dirty.ratio"] == "0.01"
    listed = {row["topic"]: row for row in lastword.json("topic", "list")}
    assert listed[topic_name] == {
        "topic": topic_name,
        "partitions": 2,
        "replication": 1,
        "cleanup_policy": "compact",
    }
    (described,) = lastword.json("topic", "describe", topic_name)
    assert described["topic_id"] == created["topic_id"]
    assert {row["setting"] for row in described["settings"]} == set(created["settings"])
    assert described["layout"][1] == {
        "partition": 1,
        "leader": 1,
        "replicas": [1],
        "in_sync": [1],
        "log_start": 0,
        "stable_end": 0,
        "log_end": 0,
    }
    assert lastword("topic", "create", topic_name).exit_code == 1
    assert lastword.ok("topic", "delete", topic_name, "--yes") == f"deleted {topic_name}\n"
    assert lastword("topic", "describe", topic_name).exit_code == 1


def test_describe_shows_settings_and_partitions_to_a_person(lastword: Lastword, topic: str) -> None:
    shown = lastword.ok("topic", "describe", topic)
    assert "cleanup.policy" in shown
    assert "log start" in shown
    assert "segment.ms" not in shown
    assert "segment.ms" in lastword.ok("topic", "describe", topic, "--all")


def test_check_says_what_is_wrong_and_the_repair_it_prints_repairs_it(
    lastword: Lastword, topic: str
) -> None:
    assert lastword("topic", "check", topic).exit_code == 0
    lastword.ok("topic", "alter", topic, "--config", "cleanup.policy=delete")
    answer = lastword("topic", "check", topic)
    assert answer.exit_code == 1
    assert "error: cleanup.policy is delete, wanted compact" in answer.stdout
    assert "not fit for a table" in answer.stderr
    repair = answer.stdout.rpartition("repair:")[2].split()
    assert repair[0] == "lastword"
    lastword.ok(*repair[1:])
    assert lastword.json("topic", "check", topic) == []


def test_check_takes_the_expected_partitions_and_the_wish_for_expiry(
    lastword: Lastword, topic: str
) -> None:
    assert lastword("topic", "check", topic, "--partitions", "4").exit_code == 1
    lastword.ok("topic", "alter", topic, "--config", "cleanup.policy=compact,delete")
    assert lastword("topic", "check", topic).exit_code == 1
    assert lastword("topic", "check", topic, "--allow-expiry").exit_code == 0


def test_alter_sets_and_resets(lastword: Lastword, topic: str) -> None:
    lastword.ok("topic", "alter", topic, "--config", "segment.ms=5000")
    changed = lastword.json("topic", "alter", topic, "--reset", "segment.ms")
    assert changed == [{"setting": "segment.ms", "value": "604800000", "source": "default"}]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["alter", "TOPIC"], 2, "Nothing to change"),
        (["alter", "TOPIC", "--config", "segment.ms"], 2, "write KEY=VALUE"),
        (["alter", "TOPIC", "--config", "no.such=1"], 2, "no.such"),
        (["create", "TOPIC", "--partitions", "0"], 2, "0"),
        (["delete", "TOPIC"], 2, "pass --yes"),
        (["partition", "TOPIC"], 2, "Give a KEY"),
        (["check", "no-such-topic"], 1, "no-such-topic"),
        (["compaction", "no-such-topic"], 1, "no-such-topic"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else None,
)
def test_mistakes_end_with_a_hint(
    lastword: Lastword, topic: str, arguments: list[str], status: int, said: str
) -> None:
    answer = lastword("topic", *[topic if word == "TOPIC" else word for word in arguments])
    assert (answer.exit_code, said in answer.stderr) == (status, True), answer.output
    assert topic in {row["topic"] for row in lastword.json("topic", "list")}


def test_compaction_shows_what_happened_and_why_no_more(
    lastword: Lastword, local_broker: EmbeddedBroker, topic_name: str
) -> None:
    lastword.ok(
        *("topic", "create", topic_name, "--partitions", "1", "--profile", "aggressive"),
        *("--config", "segment.ms=1000"),
    )
    produce(local_broker, topic_name, ("a", "1", 0), ("a", "2", 0), ("b", "1", 0))
    (before,) = lastword.json("topic", "compaction", topic_name, "--why")
    assert before["contents"]["records"] == 3
    assert before["contents"]["duplicates"] == 1
    assert before["cleaner"]["cleaned_until"] is None
    assert [reason["cause"] for reason in before["reasons"]] == ["active segment"]
    produce(local_broker, topic_name, ("c", "1", 5))

    def cleaned() -> bool:
        (now,) = lastword.json("topic", "compaction", topic_name, "--fast")
        assert now["contents"] is None
        return bool(now["cleaner"]["cleaned_until"] == 3 and now["cleaner"]["last_run"])

    wait_until(cleaned, "the closed segment has been compacted")
    (after,) = lastword.json("topic", "compaction", topic_name, "--why")
    assert after["contents"] == {
        "records": 3,
        "live_keys": 3,
        "duplicates": 0,
        "tombstones": 0,
        "keyless": 0,
        "record_bytes": 6,
        "live_bytes": 6,
    }
    assert after["cleaner"]["last_run"]["records_after"] == 2
    assert [reason["cause"] for reason in after["reasons"]] == ["nothing to clean"]
    shown = lastword.ok("topic", "compaction", topic_name, "--why")
    assert "partition 0: nothing to clean" in shown
    assert "unknown" not in shown


def test_figures_of_a_remote_cleaner_are_shown_as_unknown(
    lastword: Lastword, broker: EmbeddedBroker, topic: str
) -> None:
    produce(broker, topic, ("a", "1", 0), ("a", "2", 0))
    shown = lastword.ok("topic", "compaction", topic)
    assert "unknown" in shown
    first = lastword.json("topic", "compaction", topic)[0]
    assert first["cleaner"] is None
    assert first["contents"]["duplicates"] == 1
    assert first["size_bytes"] > 0


def test_a_key_is_said_to_go_where_it_goes(lastword: Lastword, topic: str) -> None:
    lastword.ok("put", topic, stdin="test-a:1\ntest-b:2\ntest-c:3\n")
    found = {row["key"]: row["partition"] for row in lastword.json("log", topic)}
    assert len(found) == 3
    said = lastword.json("topic", "partition", topic, *found, "--verify")
    assert {row["key"]: row["partition"] for row in said} == found


def test_a_key_in_two_partitions_is_found_and_ends_with_1(
    lastword: Lastword, broker: EmbeddedBroker, topic: str
) -> None:
    lastword.ok("put", topic, "user-2", "1")
    (home,) = lastword.json("topic", "partition", topic, "user-2")
    assert home["partition"] != 0
    produce(broker, topic, ("user-2", "2", 0))
    answer = lastword("topic", "partition", topic, "--verify")
    assert answer.exit_code == 1
    assert f"split: user-2 is in the partitions 0, {home['partition']}" in answer.stdout
    assert "misplaced: user-2 is in partition 0" in answer.stdout
