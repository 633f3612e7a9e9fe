"""One rule says where everything is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from lastword.broker.home import default_home


def test_lastword_home_decides() -> None:
    assert default_home({"LASTWORD_HOME": "/data/lastword"}) == Path("/data/lastword")


def test_a_relative_home_is_made_absolute_and_a_tilde_is_understood() -> None:
    assert default_home({"LASTWORD_HOME": "here"}) == Path.cwd() / "here"
    assert default_home({"LASTWORD_HOME": "~/lw"}) == Path.home() / "lw"


@pytest.mark.parametrize("environ", [{}, {"LASTWORD_HOME": ""}])
def test_without_it_the_platform_decides_and_never_a_temporary_directory(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]
) -> None:
    monkeypatch.setenv("HOME", "/home/alice")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    home = default_home(environ)
    assert home.name == "lastword"
    assert home.is_relative_to("/home/alice")
