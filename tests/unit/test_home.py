"""One rule says where everything is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from lastword.cli.support.app_context import AppContext
from lastword.home import HomeFolder, default_home, default_state_dir

SETTINGS = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"


def test_lastword_home_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LASTWORD_HOME", "/data/lastword")
    assert default_home() == Path("/data/lastword")
    assert default_state_dir() == Path("/data/lastword/state")


def test_a_relative_home_is_made_absolute_and_a_tilde_is_understood(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LASTWORD_HOME", "here")
    assert default_home() == AppContext().home == Path.cwd() / "here"
    monkeypatch.setenv("LASTWORD_HOME", "~/lw")
    assert default_home() == AppContext().home == Path.home() / "lw"


@pytest.mark.parametrize("given", [None, ""])
def test_without_it_the_platform_decides_and_never_a_temporary_directory(
    monkeypatch: pytest.MonkeyPatch, given: str | None
) -> None:
    monkeypatch.setenv("HOME", "/home/alice")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("LASTWORD_HOME", raising=False)
    if given is not None:
        monkeypatch.setenv("LASTWORD_HOME", given)
    home = default_home()
    assert home.name == "lastword"
    assert home.is_relative_to("/home/alice")
    assert AppContext().home == home


@pytest.mark.parametrize("folder", HomeFolder)
def test_every_folder_of_the_home_is_documented(folder: HomeFolder) -> None:
    assert f"| `{folder}/" in SETTINGS.read_text(), f"say in {SETTINGS.name} what is in {folder}"
