"""put, get, delete, ls, count, watch and log, as a person or a script uses them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from lastword.broker.embedded import EmbeddedBroker

if TYPE_CHECKING:
    from tests.broker.cli.conftest import Lastword

PEOPLE = 'user-1:{"age": 25}\nuser-2:{"age": 30}\nuser-3:{"age": 35}\n'


def test_a_value_that_was_put_can_be_read(lastword: Lastword, topic: str) -> None:
    (written,) = lastword.json("put", topic, "user-1", '{"age": 25}')
    assert (written["key"], written["status"]) == ("user-1", "ok")
    assert lastword.ok("get", topic, "user-1") == '{"age":25}\n'
    (got,) = lastword.json("get", topic, "user-1")
    assert (got["key"], got["value"], got["version"]) == (
        "user-1",
        {"age": 25},
        written["version"],
    )


def test_a_value_is_put_with_a_time_to_live(lastword: Lastword, topic: str) -> None:
    lastword.ok("put", topic, "session", "1", "--ttl", "1h", "--timestamp", "1")
    (got,) = lastword.json("get", topic, "session")
    assert got["timestamp"] == 1
    assert got["expires_at"] > 1_700_000_000_000, "counted from now, not from 1970"
    lastword.ok("put", topic, "lasting", "1")
    (lasting,) = lastword.json("get", topic, "lasting")
    assert lasting["expires_at"] is None
    answer = lastword("put", topic, "session", "1", "--ttl", "soon")
    assert answer.exit_code == 2
    assert "a time to live cannot be 'soon'" in answer.stderr


def test_keys_of_windows_are_typed_and_shown_with_their_times(
    lastword: Lastword, topic: str
) -> None:
    minutes = ("--window", "60000", "--value-codec", "int64")
    for start in (60_000, 120_000):
        lastword.ok("put", topic, f"a@b@{start}", str(start), *minutes)
    assert lastword.ok("get", topic, "a@b@60000", *minutes) == "60000\n"
    assert lastword.ok("ls", topic, "--prefix", "a@", *minutes) == (
        "a@b@60000  60000\na@b@120000  120000\n"
    )
    (first, _) = lastword.json("ls", topic, *minutes)
    assert first["key"] == {"key": "a@b", "start": 60_000}
    records = lastword.json("log", topic, *minutes)
    assert len({record["partition"] for record in records}) == 1, "where the inner key is"
    lastword.ok("delete", topic, "a@b@60000", "a@b@120000", *minutes)
    lastword.ok("put", topic, "a@5-9", "1", "--window", "session")
    (found,) = lastword.json("ls", topic, "--window", "session")
    assert found["key"] == {"key": "a", "start": 5, "end": 9}
    assert lastword.ok("ls", topic, "--window", "session") == "a@5-9  1\n"
    for key, window in (("a", "60000"), ("a@5", "session"), ("a@5-9", "60000"), ("a@x", "1")):
        answer = lastword("get", topic, key, "--window", window)
        assert answer.exit_code == 2
        assert "is not a windowed key" in answer.stderr
    assert "a window cannot be 'x'" in lastword("ls", topic, "--window", "x").stderr


def test_a_key_that_is_not_there_ends_with_1(lastword: Lastword, topic: str) -> None:
    answer = lastword("get", topic, "nobody")
    assert answer.exit_code == 1
    assert "has no key 'nobody'" in answer.stderr
    assert answer.stdout == ""


def test_a_topic_that_is_not_there_ends_with_1(lastword: Lastword, topic_name: str) -> None:
    for command in (["get", topic_name, "x"], ["put", topic_name, "x", "1"], ["log", topic_name]):
        answer = lastword(*command)
        assert answer.exit_code == 1, command
        assert topic_name in answer.stderr


def test_a_cluster_that_does_not_answer_ends_with_3(lastword: Lastword) -> None:
    answer = lastword("count", "users", "--bootstrap-servers", "127.0.0.1:1")
    assert answer.exit_code == 3
    assert "127.0.0.1:1" in answer.stderr


def test_lines_are_read_as_the_console_producer_reads_them(lastword: Lastword, topic: str) -> None:
    answer = lastword("put", topic, stdin=PEOPLE)
    assert (answer.exit_code, answer.stderr) == (0, "3 written, 0 failed\n")
    assert lastword.json("count", topic)[0]["count"] == 3
    lastword.ok("put", topic, "--null-marker", "NULL", stdin="user-2:NULL\n")
    assert lastword.ok("ls", topic) == 'user-1  {"age":25}\nuser-3  {"age":35}\n'


def test_every_line_has_an_outcome_and_a_bad_one_stops_no_other(
    lastword: Lastword, topic: str
) -> None:
    answer = lastword("put", topic, stdin='a:1\nno separator\nb:not json\nc:"3"\n')
    assert answer.exit_code == 2
    assert "2 written, 2 failed" in answer.stderr
    assert "line 2" in answer.stdout
    assert "line 3" in answer.stdout
    assert [row["key"] for row in lastword.json("ls", topic)] == ["a", "c"]


def test_the_outcomes_of_lines_are_in_the_order_of_the_lines(
    lastword: Lastword, topic: str
) -> None:
    answer = lastword("put", topic, "--json", stdin='a:1\nno separator\nb:not json\nc:"3"\n')
    rows = [json.loads(line) for line in answer.stdout.splitlines()]
    assert [(row["key"], row["status"]) for row in rows] == [
        ("a", "ok"),
        ("no separator", "failed"),
        ("b:not json", "failed"),
        ("c", "ok"),
    ]


def test_another_separator_keeps_colons_in_keys(lastword: Lastword, topic: str) -> None:
    lastword.ok("put", topic, "--key-separator", "=>", stdin="eu:1=>1\nus:1=>2\n")
    assert [row["key"] for row in lastword.json("ls", topic, "--prefix", "eu:")] == ["eu:1"]


def test_ls_takes_ranges_prefixes_order_and_a_limit(lastword: Lastword, topic: str) -> None:
    lastword.ok("put", topic, stdin=PEOPLE + 'admin-1:{"age": 1}\n')

    def keys(*options: str) -> list[str]:
        return [row["key"] for row in lastword.json("ls", topic, *options)]

    assert keys("--prefix", "user-") == ["user-1", "user-2", "user-3"]
    assert keys("--from", "user-1", "--to", "user-3") == ["user-1", "user-2"]
    assert keys("--reverse", "--limit", "2") == ["user-3", "user-2"]


def test_deleted_keys_are_gone_and_their_tombstones_are_in_the_log(
    lastword: Lastword, topic: str
) -> None:
    lastword.ok("put", topic, stdin=PEOPLE)
    deleted = lastword.json("delete", topic, "user-1", "user-3", "never-there")
    assert [row["status"] for row in deleted] == ["ok", "ok", "ok"]
    assert [row["key"] for row in lastword.json("ls", topic)] == ["user-2"]
    tombstones = [row["key"] for row in lastword.json("log", topic) if row["tombstone"]]
    assert sorted(tombstones) == ["never-there", "user-1", "user-3"]


def test_the_log_has_every_record_in_the_order_of_each_partition(
    lastword: Lastword, topic: str
) -> None:
    lastword.ok("put", topic, stdin=PEOPLE + 'user-1:{"age": 26}\n')
    records = lastword.json("log", topic)
    assert set(records[0]) == {"partition", "offset", "timestamp", "key", "value", "tombstone"}
    assert [r["value"]["age"] for r in records if r["key"] == "user-1"] == [25, 26]
    places = [(r["partition"], r["offset"]) for r in records]
    assert places == sorted(places)
    only = lastword.json("log", topic, "--partition", str(places[0][0]))
    assert only == [r for r in records if r["partition"] == places[0][0]]
    assert len(lastword.json("log", topic, "--limit", "2")) == 2


def test_json_null_an_empty_value_and_a_tombstone_are_three_things(
    lastword: Lastword, topic: str
) -> None:
    lastword.ok("put", topic, "null", "null")
    lastword.ok("put", topic, "empty", "", "--value-codec", "string")
    lastword.ok("delete", topic, "gone")
    records = {row["key"]: row for row in lastword.json("log", topic, "--value-codec", "bytes")}
    assert (records["null"]["value"], records["null"]["tombstone"]) == ("bnVsbA==", False)
    assert (records["empty"]["value"], records["empty"]["tombstone"]) == ("", False)
    assert (records["gone"]["value"], records["gone"]["tombstone"]) == (None, True)
    assert lastword.json("count", topic)[0]["count"] == 2


def test_a_record_that_cannot_be_decoded_is_shown_raw_and_the_log_continues(
    lastword: Lastword, topic: str
) -> None:
    lastword.ok("put", topic, "a-bad", "not json", "--value-codec", "string")
    lastword.ok("put", topic, "good", "1")
    records = {row["key"]: row for row in lastword.json("log", topic)}
    assert "not json" in records["a-bad"]["error"]
    assert records["good"]["value"] == 1
    assert lastword("ls", topic).exit_code == 1
    assert [row["key"] for row in lastword.json("ls", topic, "--on-bad", "skip")] == ["good"]


def test_headers_and_timestamps_are_written_and_shown(lastword: Lastword, topic: str) -> None:
    arguments = ["--header", "source=import", "--timestamp", "1700000000000"]
    lastword.ok("put", topic, "user-1", "1", *arguments)
    (got,) = lastword.json("get", topic, "user-1")
    assert got["timestamp"] == 1_700_000_000_000
    assert got["headers"] == [["source", "aW1wb3J0"]]


def test_watch_prints_puts_and_deletes_from_the_beginning_or_a_position(
    lastword: Lastword, topic: str
) -> None:
    (first,) = lastword.json("put", topic, "user-1", "1")
    lastword.ok("put", topic, "user-1", "2")
    lastword.ok("delete", topic, "user-1")
    changes = lastword.json("watch", topic, "--from", "beginning", "--limit", "3")
    assert [(c["value"], c["deleted"]) for c in changes] == [(1, False), (2, False), (None, True)]
    partition, offset = map(int, first["version"].split(":"))
    resumed = lastword.json("watch", topic, "--from", f"{partition}:{offset + 1}", "--limit", "2")
    assert resumed == changes[1:]


def test_a_table_of_the_settings_file_has_its_own_name_and_codecs(
    lastword: Lastword, topic: str, tmp_path: Path
) -> None:
    file = tmp_path / "lastword.toml"
    file.write_text(f'[tables.counts]\ntopic = "{topic}"\nvalue = "int64"\n')
    lastword.ok("put", "counts", "user-1", "42", "--config", str(file))
    assert lastword.ok("get", "counts", "user-1", "--config", str(file)) == "42\n"
    raw = lastword.json("get", topic, "user-1", "--value-codec", "bytes")
    assert raw[0]["value"] == "AAAAAAAAACo="


def test_a_topic_cannot_command_the_terminal(lastword: Lastword, topic: str) -> None:
    lastword.ok("put", topic, "a\x1b[2J", '"\\u001b]0;owned\\u0007"')
    for command in (["ls", topic], ["log", topic], ["get", topic, "a\x1b[2J"]):
        assert "\x1b" not in lastword.ok(*command)
    assert "\x1b" not in lastword("get", topic, "b\x1b[2J").output


def test_put_without_a_value_explains_delete(lastword: Lastword, broker: EmbeddedBroker) -> None:
    answer = lastword("put", "users", "user-1")
    assert answer.exit_code == 2
    assert "lastword delete users user-1" in answer.stderr
