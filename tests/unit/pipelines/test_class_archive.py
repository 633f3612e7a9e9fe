"""The archive of Spark's classes: found by what it was made for, used only when it is there."""

from __future__ import annotations

from pathlib import Path

from lastword.jvm.java import Java
from lastword.pipelines.class_archive import archive_path, options_to_use, put_in_place

JAVA = Java(Path("/usr/bin/java"), 17, "PATH")


def test_another_java_or_other_jars_have_another_archive(tmp_path: Path) -> None:
    kafka, delta = tmp_path / "kafka.jar", tmp_path / "delta.jar"
    newer = Java(JAVA.executable, 21, "PATH")
    paths = [
        archive_path(tmp_path, JAVA, [kafka]),
        archive_path(tmp_path, newer, [kafka]),
        archive_path(tmp_path, JAVA, [kafka, delta]),
    ]
    assert len(set(paths)) == 3
    assert archive_path(tmp_path, JAVA, [kafka]) == paths[0]


def test_java_is_told_of_an_archive_once_it_is_whole(tmp_path: Path) -> None:
    archive, made = tmp_path / "a.jsa", tmp_path / "a.jsa.1"
    assert not put_in_place(made, archive)
    assert not options_to_use(archive)
    made.write_bytes(b"classes")
    assert not options_to_use(archive)
    assert put_in_place(made, archive)
    assert f"-XX:SharedArchiveFile={archive}" in options_to_use(archive)
