"""state and wipe: what is kept on this machine, who uses it, and how to be rid of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lastword.kafka.connection import Connection
from lastword.table.table import Table

if TYPE_CHECKING:
    from tests.broker.cli.conftest import Lastword


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    return tmp_path / "home" / "state"


def test_an_empty_home_has_no_state(lastword: Lastword) -> None:
    assert lastword.json("state") == []
    assert lastword("wipe", "users", "--yes").exit_code == 2


def test_state_counts_keys_and_not_the_versions_kept_beside_them(
    lastword: Lastword, connection: Connection, one_partition: str, state_dir: Path
) -> None:
    options = {"store": "rocksdb", "state_dir": state_dir, "versions": 3}
    with Table(one_partition, connection=connection, **options) as table:
        for value in range(3):
            table.put("a", value)
        table.put("b", 1)
    (state,) = lastword.json("state")
    assert (state["keys"], state["next_offset"], state["problem"]) == (2, 4, None)


def test_state_knows_who_uses_a_table_and_wipe_respects_it(
    lastword: Lastword, connection: Connection, topic: str, state_dir: Path
) -> None:
    with Table(topic, connection=connection, store="rocksdb", state_dir=state_dir) as table:
        table.put_many({f"key-{i}": i for i in range(20)})
        in_use = lastword.json("state")
        assert [each["holder"]["pid"] for each in in_use] == [os.getpid()] * 3
        assert [each["keys"] for each in in_use] == [None] * 3, "unknown, not 0"
        refused = lastword("wipe", topic, "--yes")
        assert refused.exit_code == 1
        assert f"process {os.getpid()}" in refused.stderr
        position = table.position()
    at_rest = lastword.json("state")
    assert sum(each["keys"] for each in at_rest) == 20
    assert {each["partition"]: each["next_offset"] for each in at_rest} == position.offsets
    assert {each["table"] for each in at_rest} == {topic}
    tree = lastword.ok("state")
    assert topic in tree
    assert "partition 2" in tree
    lastword.ok("wipe", topic, "--yes")
    assert lastword.json("state") == []


def test_wipe_asks_first(
    lastword: Lastword, connection: Connection, topic: str, state_dir: Path
) -> None:
    with Table(topic, connection=connection, store="rocksdb", state_dir=state_dir):
        pass
    answer = lastword("wipe", topic)
    assert answer.exit_code == 2, "without a terminal nobody can answer"
    assert "--yes" in answer.stderr
    assert len(lastword.json("state")) == 3


def test_a_damaged_store_is_reported_and_does_not_hide_the_others(
    lastword: Lastword, connection: Connection, topic: str, state_dir: Path
) -> None:
    with Table(topic, connection=connection, store="rocksdb", state_dir=state_dir) as table:
        table.put("key", 1)
    store = state_dir / "lastword" / topic / "1" / "store"
    (store / "CURRENT").write_text("nonsense")
    states = {each["partition"]: each for each in lastword.json("state")}
    assert states[1]["problem"]
    assert states[1]["keys"] is None
    assert states[0]["problem"] is None
