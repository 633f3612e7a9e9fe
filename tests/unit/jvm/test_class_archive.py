"""The archive of a program's classes: found by what it was made for, used once it is there."""

from __future__ import annotations

from pathlib import Path

from lastword.jvm.class_archive import ClassArchive
from lastword.jvm.java import Java


def java(directory: Path, version: int = 17, *, has_own_archive: bool = True) -> Java:
    """The files of one, as far as anybody looks at them."""
    server = directory / "lib" / "server"
    server.mkdir(parents=True, exist_ok=True)
    if has_own_archive:
        (server / "classes.jsa").touch()
    return Java(directory / "bin" / "java", version, "PATH")


def archive_of(directory: Path, java: Java, *jars: str) -> ClassArchive:
    return ClassArchive.of(directory / "classes", java, "broker", jars, command="make it")


def test_another_java_or_other_jars_have_another_archive(tmp_path: Path) -> None:
    archives = [
        archive_of(tmp_path, java(tmp_path), "kafka.jar"),
        archive_of(tmp_path, java(tmp_path, 21), "kafka.jar"),
        archive_of(tmp_path, java(tmp_path), "kafka.jar", "delta.jar"),
    ]
    assert len({archive.path for archive in archives}) == 3
    assert archive_of(tmp_path, java(tmp_path), "kafka.jar") == archives[0]


def test_java_uses_an_archive_once_it_is_complete(tmp_path: Path) -> None:
    archive = archive_of(tmp_path, java(tmp_path))
    archive.make_base()
    made = archive.path.with_name("made")
    assert not archive.put_in_place(made)
    made.write_bytes(b"classes")
    assert not archive.options()
    assert archive.put_in_place(made)
    assert f"-XX:SharedArchiveFile={archive.path}" in archive.options()


def test_an_archive_for_a_java_without_its_own_builds_on_one_that_is_made(tmp_path: Path) -> None:
    archive = archive_of(tmp_path, java(tmp_path, has_own_archive=False))
    assert archive.base is not None
    assert f"-XX:SharedArchiveFile={archive.base}" in archive.options_to_make(tmp_path / "made")
    archive.path.parent.mkdir()
    archive.path.touch()
    assert f"-XX:SharedArchiveFile={archive.base}:{archive.path}" in archive.options()
