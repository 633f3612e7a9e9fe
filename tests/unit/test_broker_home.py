"""One rule says where everything is kept."""

from __future__ import annotations

from pathlib import Path

from lastword.broker.home import default_home


def test_lastword_home_decides() -> None:
    assert default_home({"LASTWORD_HOME": "/data/lastword"}) == Path("/data/lastword")


def test_a_relative_home_is_made_absolute_and_a_tilde_is_understood() -> None:
    assert default_home({"LASTWORD_HOME": "here"}) == Path.cwd() / "here"
    assert default_home({"LASTWORD_HOME": "~/lw"}) == Path.home() / "lw"


def test_without_it_the_platform_decides_and_never_a_temporary_directory() -> None:
    for environ in ({}, {"LASTWORD_HOME": ""}):
        home = default_home(environ)
        assert home.name == "lastword"
        assert not home.is_relative_to("/tmp")  # noqa: S108 - that is the point
