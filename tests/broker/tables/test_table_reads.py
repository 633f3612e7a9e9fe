"""Reading a table: single keys, many, ordered walks, and how current each answer is."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from itertools import pairwise

import pytest

from lastword.errors import ConfigError, EncodeError, NotUpToPositionError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.records import Position, Version
from lastword.table.table import Table
from lastword.topics.creation import create_topic
from tests.support.local_tables.tables import Tables

PROFILES = {f"user-{n}": {"name": name} for n, name in enumerate("abcdefgh", 1)}
REGIONS = {"eu:1": 1, "eu:2": 2, "europe:1": 3, "us:1": 4}
EVERYTHING = PROFILES | REGIONS


@pytest.fixture(scope="module", params=["memory", "rocksdb"])
def users(
    request: pytest.FixtureRequest,
    connection: Connection,
    admin: Admin,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Table]:
    """A table that no test of this module changes."""
    topic = f"reads-{request.param}-{uuid.uuid4().hex[:8]}"
    create_topic(admin, topic, partitions=3)
    with Tables(connection, tmp_path_factory.mktemp("reads")) as tables:
        table = tables.open(topic, store=request.param)
        assert {outcome.status for outcome in table.put_many(EVERYTHING | {"gone": 1})} == {"ok"}
        table.delete("gone")
        yield table


def test_a_key_gives_its_value(users: Table) -> None:
    assert users["user-1"] == {"name": "a"}
    assert users.get("user-2") == {"name": "b"}
    assert "user-3" in users


def test_an_absent_key_gives_the_default_and_a_key_error(users: Table) -> None:
    assert users.get("nobody") is None
    assert users.get("nobody", "default") == "default"
    assert "nobody" not in users
    with pytest.raises(KeyError, match="nobody"):
        users["nobody"]


def test_a_deleted_key_is_absent_everywhere(users: Table) -> None:
    assert "gone" not in users
    assert users.get("gone") is None
    assert "gone" not in dict(users.items())
    assert users.get_many(["gone"]) == {}
    assert list(users.prefix("gone")) == []


def test_the_length_is_the_number_of_keys(users: Table) -> None:
    assert len(users) == len(EVERYTHING)


def test_an_empty_table_is_still_true(topic: str, tables: Tables) -> None:
    table = tables.open(topic)
    assert len(table) == 0
    assert table


def test_iterating_gives_every_key_in_order(users: Table) -> None:
    assert list(users) == sorted(EVERYTHING)


def test_items_are_keys_with_their_values_in_either_order(users: Table) -> None:
    assert list(users.items()) == sorted(EVERYTHING.items())
    assert list(users.items(reverse=True)) == sorted(EVERYTHING.items(), reverse=True)


def test_a_range_begins_with_its_start_and_ends_before_its_end(users: Table) -> None:
    assert [key for key, _ in users.range("user-2", "user-5")] == ["user-2", "user-3", "user-4"]
    assert [key for key, _ in users.range("user-7")] == ["user-7", "user-8"]
    assert [key for key, _ in users.range(end="eu:2")] == ["eu:1"]


def test_a_range_can_be_walked_from_its_end(users: Table) -> None:
    backwards = [key for key, _ in users.range("user-2", "user-5", reverse=True)]
    assert backwards == ["user-4", "user-3", "user-2"]


def test_the_ends_of_a_range_need_not_exist(users: Table) -> None:
    assert [key for key, _ in users.range("user-10", "user-3")] == ["user-2"]
    assert list(users.range("v", "w")) == []
    assert list(users.range("user-3", "user-3")) == []


def test_a_range_that_runs_backwards_is_refused_with_a_hint(users: Table) -> None:
    with pytest.raises(ConfigError, match="runs backwards") as refused:
        users.range("user-5", "user-2")
    assert "reverse=True" in (refused.value.hint or "")


def test_a_prefix_gives_the_keys_that_begin_with_it(users: Table) -> None:
    assert dict(users.prefix("eu:")) == {"eu:1": 1, "eu:2": 2}
    assert [key for key, _ in users.prefix("eu", reverse=True)] == ["europe:1", "eu:2", "eu:1"]
    assert dict(users.prefix("")) == EVERYTHING


def test_a_prefix_and_a_range_exclude_each_other(users: Table) -> None:
    with pytest.raises(ConfigError, match="prefix= excludes"):
        users.query.scan("a", prefix="b")


def test_many_keys_are_read_at_once_and_absent_ones_omitted(users: Table) -> None:
    found = users.get_many(["user-1", "nobody", "eu:1"])
    assert found == {"user-1": {"name": "a"}, "eu:1": 1}
    assert users.get_many([]) == {}


def test_a_key_of_the_wrong_type_is_refused_with_a_hint(users: Table) -> None:
    with pytest.raises(EncodeError, match="takes str, not int") as refused:
        users.get(1)
    assert refused.value.hint


def test_every_answer_says_the_position_it_reflects(users: Table) -> None:
    everything = users.position()
    assert set(everything.offsets) == {0, 1, 2}
    assert users.query.count().position == everything
    assert users.query.get_many(list(users)).position == everything
    assert users.query.scan().position == everything
    one = users.query.get("user-1")
    assert users.query.get_many(["user-1"]).position == one.position
    assert one.value is not None
    assert one.position.at_least(Position.after(one.value.version))
    assert users.query.contains("user-1").position == one.position
    assert not (one.stale or users.query.count().stale or users.query.scan().stale)


def test_an_absent_key_has_a_position_too(users: Table) -> None:
    answer = users.query.get("nobody")
    assert answer.value is None
    ((partition, offset),) = answer.position.offsets.items()
    assert users.position().offsets[partition] == offset


def test_an_entry_has_its_version_and_timestamp(users: Table) -> None:
    entry = users.entry("user-1")
    assert entry is not None
    assert (entry.key, entry.value, entry.headers) == ("user-1", {"name": "a"}, ())
    assert entry.timestamp_ms > 1_700_000_000_000
    assert users.entry("nobody") is None


def test_a_scan_gives_entries_with_versions(users: Table) -> None:
    entries = list(users.query.scan(prefix="user-"))
    assert [entry.key for entry in entries] == list(PROFILES)
    assert [entry.version for entry in entries] == [
        entry.version for key in PROFILES if (entry := users.entry(key))
    ]
    assert len({entry.version for entry in entries}) == len(entries)


def test_a_scan_can_be_left_early(users: Table) -> None:
    with users.items() as scan:
        assert next(scan) == ("eu:1", 1)
    assert list(scan) == []


def test_a_position_not_reached_in_time_is_an_error_that_says_both(users: Table) -> None:
    here = users.position().offsets[0]
    with pytest.raises(NotUpToPositionError, match=f"not yet at 0:{here + 1}") as behind:
        users.query.get("user-1", at_least=Position({0: here + 1}), timeout_s=0.05)
    assert behind.value.retriable


@pytest.mark.parametrize("partition", [3, 99])
def test_a_position_of_a_partition_that_is_not_there_is_refused(
    users: Table, partition: int
) -> None:
    with pytest.raises(ConfigError, match=f"{partition}:0 names partitions that .* does not have"):
        users.query.count(at_least=Position({partition: 0}), timeout_s=0.05)


def test_a_read_waits_for_the_position_it_asks_for(topic: str, tables: Tables, store: str) -> None:
    writer = tables.open(topic)
    reader = tables.open(topic, store=store)
    written: Version | None = None
    for n in range(50):
        written = writer.put("counter", n)
        answer = reader.query.get("counter", at_least=Position.after(written))
        assert answer.value is not None
        assert (answer.value.value, answer.value.version) == (n, written)
    versions = [writer.put(f"key-{n}", n) for n in range(20)]
    latest = Position({v.partition: v.offset + 1 for v in sorted(versions)})
    assert reader.query.count(at_least=latest).value == 21
    assert len(list(reader.query.scan(at_least=latest))) == 21
    assert len(reader.query.get_many([f"key-{n}" for n in range(20)], at_least=latest).value) == 20


def test_versions_of_one_key_only_grow(topic: str, tables: Tables) -> None:
    table = tables.open(topic)
    versions = [table.put("user-1", n) for n in range(5)] + [table.delete("user-1")]
    assert all(before < after for before, after in pairwise(versions))
