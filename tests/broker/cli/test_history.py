"""What was: `lastword history` and `get --as-of`, and where something may be missing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lastword.broker.embedded import EmbeddedBroker
from lastword.kafka.connection import Connection
from lastword.snapshots.catalog.location import Location
from tests.support.local_tables.real_topic import EAGER_COMPACTION, RealTopic
from tests.support.on_spark.snapshots import keep_history_without_spark, take_without_spark

if TYPE_CHECKING:
    from tests.broker.cli.conftest import Lastword


def test_changes_come_from_the_history_and_the_log_and_gaps_are_reported(
    lastword: Lastword, broker: EmbeddedBroker, topic_name: str, tmp_path: Path
) -> None:
    connection = Connection(bootstrap_servers=broker.bootstrap_servers)
    topic = RealTopic(connection, topic_name).create(settings=EAGER_COMPACTION)
    location = Location(str(tmp_path / "home" / "snapshots"), topic_name)
    topic.produce((b"a", b"1"), (b"b", b"1"), (b"a", b"2"))
    topic.compact_until(lambda log: (b"a", b"1") not in [each[2:] for each in log], "a is cleaned")
    take_without_spark(connection, location)
    keep_history_without_spark(connection, location)
    topic.produce((b"a", b"3"), (b"a", None))
    keep_history_without_spark(connection, location)
    topic.produce((b"a", b"4"))
    topic.compact_until(lambda log: (b"a", b"3") not in [each[2:] for each in log], "a is cleaned")

    found = lastword.json("history", topic_name, "a")
    assert [None if each["tombstone"] else each["value"] for each in found] == [2, 3, None, 4]
    assert [each["offset"] for each in found] == sorted(each["offset"] for each in found)
    assert found[0]["may_lack_some_before"]
    assert [
        each["value"] for each in lastword.json("history", topic_name, "a", "--limit", "1")
    ] == [4]
    told = lastword("history", topic_name, "a")
    assert "changes may be missing here" in told.stderr
    assert "(tombstone)" in told.stdout


def test_get_and_ls_answer_for_a_past_moment(lastword: Lastword, topic: str) -> None:
    lastword.ok("put", topic, "a", "1")
    lastword.ok("put", topic, "b", "1")
    (before,) = lastword.json("count", topic)
    lastword.ok("put", topic, "a", "2")
    assert lastword.ok("get", topic, "a", "--as-of", before["position"]) == "1\n"
    assert lastword.ok("get", topic, "a") == "2\n"
    listed = ("ls", topic, "--as-of", before["position"])
    assert lastword.ok(*listed, "--reverse") == "b  1\na  1\n"
    assert lastword.ok(*listed, "--prefix", "a") == lastword.ok(*listed, "--to", "b") == "a  1\n"
    start = ",".join(f"{each.partition(':')[0]}:0" for each in before["position"].split(","))
    assert lastword("get", topic, "a", "--as-of", start).exit_code == 1
    assert lastword("get", topic, "a", "--as-of", "yesterday").exit_code == 2


def test_a_log_that_has_every_offset_lacks_nothing(lastword: Lastword, topic: str) -> None:
    lastword.ok("put", topic, "a", "1")
    lastword.ok("delete", topic, "a")
    told = lastword("history", topic, "a")
    assert told.exit_code == 0
    assert "missing" not in told.stderr and "compaction" not in told.stderr
    assert [each["may_lack_some_before"] for each in lastword.json("history", topic, "a")] == [
        False
    ] * 2
    unknown = lastword("history", topic, "nobody")
    assert unknown.exit_code == 1
