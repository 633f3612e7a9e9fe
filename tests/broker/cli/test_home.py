"""With LASTWORD_HOME set, nothing is kept outside of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lastword import Table
from lastword.home import HomeFolder
from lastword.kafka.connection import Connection
from tests.broker.cli.conftest import Lastword


@pytest.fixture
def elsewhere(
    lastword: Lastword, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, Path]:
    """The user's home directory and the current one, both empty; nothing belongs there."""
    user, current = tmp_path / "user", tmp_path / "current"
    user.mkdir()
    current.mkdir()
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.setenv("LASTWORD_HOME", str(lastword.environ["LASTWORD_HOME"]))
    monkeypatch.chdir(current)
    return user, current


def test_commands_and_tables_write_below_the_home_only(
    lastword: Lastword,
    connection: Connection,
    topic_name: str,
    elsewhere: tuple[Path, Path],
    tmp_path: Path,
) -> None:
    lastword.ok("topic", "create", topic_name, "--partitions", "1")
    lastword.ok("put", topic_name, "user-1", "1")
    lastword.ok("get", topic_name, "user-1")
    lastword.ok("token", "create", "mine", "--scope", "admin")
    with Table(topic_name, connection=connection, store="rocksdb") as table:
        assert table["user-1"] == 1
    assert [state["table"] for state in lastword.json("state")] == [topic_name]
    home = tmp_path / "home"
    assert {path.name for path in home.iterdir()} == {HomeFolder.SERVICE, HomeFolder.STATE}
    assert [list(directory.rglob("*")) for directory in elsewhere] == [[], []]
