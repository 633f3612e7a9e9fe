"""Jars come from a repository once, are verified always, and are at hand offline.

The repository here is a directory, reached through an Ivy settings file as a company would
write it; Ivy and Java are the real ones.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from lastword.errors import JavaError
from lastword.jvm import jar_set as jar_set_module
from lastword.jvm.ivy import Coordinate
from lastword.jvm.jar_set import JarSet
from lastword.jvm.java import Java, find_java

JARS = JarSet(
    "test-1.0",
    (
        Coordinate("org.example", "tree", "1.0"),
        Coordinate("org.example", "stone", "3.0", transitive=False),
    ),
)
SETTINGS = """<ivysettings>
  <settings defaultResolver="company"/>
  <resolvers>
    <ibiblio name="company" m2compatible="true" root="{root}"/>
  </resolvers>
</ivysettings>
"""
NO_JAVA = Java(Path("/nonexistent/java"), 17, "a test")


def publish(
    root: Path, name: str, version: str, *, needs: str = "", packaging: str = "jar"
) -> bytes:
    """Put a module into a repository of Maven's layout; returns the bytes of its jar."""
    folder = root / "org" / "example" / name / version
    folder.mkdir(parents=True)
    dependencies = "".join(
        f"<dependency><groupId>org.example</groupId><artifactId>{each}</artifactId>"
        "<version>2.0</version></dependency>"
        for each in needs.split()
    )
    (folder / f"{name}-{version}.pom").write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>org.example</groupId>"
        f"<artifactId>{name}</artifactId><version>{version}</version>"
        f"<packaging>{packaging}</packaging><dependencies>{dependencies}</dependencies></project>"
    )
    content = f"the classes of {name} {version}".encode()
    (folder / f"{name}-{version}.jar").write_bytes(content)
    return content


@dataclass
class World:
    """A repository, the settings that lead to it, and an empty home."""

    home: Path
    repository: Path
    settings: Path
    java: Java

    @property
    def jars(self) -> Path:
        return self.home / "jars" / JARS.name

    def resolve(self, java: Java | None = None) -> list[Path]:
        return JARS.resolve(self.home, java or self.java, ivy_settings=self.settings)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    repository = tmp_path / "repository"
    contents = {
        "tree-1.0.jar": publish(repository, "tree", "1.0", needs="leaf"),
        # Published as an OSGi bundle, which Ivy leaves out when it is asked for jars only.
        "leaf-2.0.jar": publish(repository, "leaf", "2.0", packaging="bundle"),
        "stone-3.0.jar": publish(repository, "stone", "3.0", needs="absent"),
    }
    checksums = tmp_path / "checksums"
    checksums.mkdir()
    (checksums / f"{JARS.name}.sha256").write_text(
        "".join(
            f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in contents.items()
        )
    )
    monkeypatch.setattr(jar_set_module, "CHECKSUMS", checksums)
    settings = tmp_path / "ivysettings.xml"
    settings.write_text(SETTINGS.format(root=repository.as_uri()))
    return World(tmp_path / "home", repository, settings, find_java(os.environ))


def test_jars_come_from_the_repository_of_the_settings_file_and_stay(world: World) -> None:
    jars = world.resolve()
    assert [jar.name for jar in jars] == ["tree-1.0.jar", "leaf-2.0.jar", "stone-3.0.jar"]
    shutil.rmtree(world.repository)
    assert world.resolve(java=NO_JAVA) == jars, "all there: neither Java nor Ivy is started"


def test_nothing_but_the_jars_is_left_behind(world: World) -> None:
    world.resolve()
    assert {path.name for path in world.home.rglob("*")} == {
        "jars", "test-1.0.lock", "test-1.0", "verified.json",
        "tree-1.0.jar", "leaf-2.0.jar", "stone-3.0.jar",
    }  # fmt: skip


def test_a_jar_that_was_tampered_with_is_refused(world: World) -> None:
    _, leaf, _ = world.resolve()
    leaf.write_bytes(leaf.read_bytes().replace(b"classes", b"viruses"))
    with pytest.raises(JavaError, match=r"leaf-2\.0\.jar is not the file") as caught:
        world.resolve()
    assert str(world.jars) in (caught.value.hint or "")


def test_a_jar_that_is_missing_is_brought_back(world: World) -> None:
    _, leaf, _ = world.resolve()
    content = leaf.read_bytes()
    leaf.unlink()
    world.resolve()
    assert leaf.read_bytes() == content


def test_an_unlisted_jar_in_the_directory_is_not_used(world: World) -> None:
    world.resolve()
    (world.jars / "evil.jar").write_bytes(b"")
    assert "evil.jar" not in {jar.name for jar in world.resolve(java=NO_JAVA)}


def test_a_repository_that_delivers_another_file_is_refused(world: World) -> None:
    leaf = world.repository / "org" / "example" / "leaf" / "2.0" / "leaf-2.0.jar"
    leaf.write_bytes(b"something else")
    with pytest.raises(JavaError, match=r"leaf-2\.0\.jar is not the file") as caught:
        world.resolve()
    assert "repository" in (caught.value.hint or "")
    assert list(world.jars.parent.rglob("*.jar")) == [], "nothing of it may be found later"


def test_a_repository_without_a_module_is_an_error_in_ivys_words(world: World) -> None:
    shutil.rmtree(world.repository / "org" / "example" / "leaf")
    with pytest.raises(JavaError, match=r"org\.example#leaf;2\.0: not found"):
        world.resolve()


def test_after_a_failure_the_next_attempt_continues(world: World) -> None:
    shutil.rmtree(world.repository / "org" / "example" / "leaf")
    with pytest.raises(JavaError):
        world.resolve()
    publish(world.repository, "leaf", "2.0", packaging="bundle")
    assert len(world.resolve()) == 3


def test_a_settings_file_that_does_not_exist_is_named(world: World) -> None:
    world.settings.unlink()
    with pytest.raises(JavaError, match=r"no Ivy settings file .*ivysettings\.xml"):
        world.resolve()


def test_without_pyspark_the_error_says_what_to_install(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(JavaError, match="PySpark") as caught:
        world.resolve()
    assert caught.value.hint == "pip install 'lastword[local]'"


def test_two_processes_that_resolve_at_once_download_once(world: World, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    counting = tmp_path / "java"
    counting.write_text(f'#!/bin/sh\necho run >> "{runs}"\nexec "{world.java.executable}" "$@"\n')
    counting.chmod(0o755)
    java = Java(counting, world.java.release, "a test")
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: world.resolve(java), range(2))
    assert first == second
    assert runs.read_text() == "run\n"


def test_progress_names_each_jar_and_grows_until_all_are_found_and_downloaded(
    world: World,
) -> None:
    steps: list[tuple[int, int, str]] = []
    JARS.resolve(
        world.home,
        world.java,
        ivy_settings=world.settings,
        progress=lambda done, total, what: steps.append((done, total, what)),
    )
    done = [step[0] for step in steps]
    assert done == sorted(done)
    assert {total for _, total, _ in steps} == {6}
    assert (steps[0], done[-1]) == ((1, 6, "tree 1.0"), 6)
    assert {"leaf 2.0", "leaf-2.0.jar", "stone 3.0", "stone-3.0.jar"} <= {
        what for *_, what in steps
    }
