"""A settings file that somebody else wrote does not run code here.

``lastword.toml`` was taken from any current directory, and its ``plugin.library.paths`` loaded a
library into the process.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lastword.cli.settings.settings_file import load_settings
from lastword.errors import ConfigError
from lastword.kafka.connection import Connection

NOBODY = 65534


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A settings file in the current directory."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "lastword.toml"
    file.write_text('application_id = "shop"')
    file.chmod(0o644)
    return file


def give_away(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only root can give a file to somebody else; anybody can be somebody else here."""
    if os.geteuid() == 0:
        os.chown(file, NOBODY, -1, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: NOBODY)


def test_ones_own_file_is_taken(file: Path) -> None:
    assert load_settings(None, {}, {})["application_id"] == "shop"


def test_a_file_of_another_user_is_refused_unless_it_is_named(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_away(file, monkeypatch)
    with pytest.raises(ConfigError, match="belongs to ") as refusal:
        load_settings(None, {}, {})
    assert "--config lastword.toml" in (refusal.value.hint or "")
    assert load_settings(file, {}, {})["application_id"] == "shop"


def test_a_link_of_another_user_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.rename(file.with_name("mine.toml"))
    file.symlink_to("mine.toml")
    give_away(file, monkeypatch)
    with pytest.raises(ConfigError, match="belongs to "):
        load_settings(None, {}, {})


@pytest.mark.parametrize(("mode", "who"), [(0o646, "every user"), (0o664, "its group")])
def test_one_that_others_can_write_is_refused(
    file: Path, mode: int, who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lastword.cli.settings.trusted_file._is_own_group", lambda _: False)
    file.chmod(mode)
    with pytest.raises(ConfigError, match=f"can be written by .*{who}"):
        load_settings(None, {}, {})


def test_a_group_of_ones_own_may_write(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lastword.cli.settings.trusted_file._is_own_group", lambda _: True)
    file.chmod(0o664)
    assert load_settings(None, {}, {})["application_id"] == "shop"


@pytest.mark.parametrize(
    "name",
    ["plugin.library.paths", "ssl.engine.location", "https.ca.location", "auto.offset.reset", "x"],
)
def test_a_property_that_is_not_on_the_list_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"the property {name} "):
        Connection(bootstrap_servers="a:9092", properties={name: "evil.so"})
