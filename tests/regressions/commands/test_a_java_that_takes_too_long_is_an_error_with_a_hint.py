"""``lastword pipeline prepare`` ended in a traceback of ``subprocess`` on a busy machine.

Java had three minutes to write its archive of classes, and nothing was said meanwhile. It has half
an hour, the progress is shown, and what takes longer is an error that says what to do.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lastword.errors import JavaError
from lastword.jvm import class_archive
from lastword.jvm.java import Java
from lastword.spark.spark_classes import spark_archive


def test_it_is_ended_and_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, pid = tmp_path / "java", tmp_path / "pid"
    script.write_text(f"#!/bin/sh\necho $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 600\n")
    script.chmod(0o755)
    archive = spark_archive(tmp_path, Java(script, 21, "PATH"), [])
    monkeypatch.setattr(class_archive, "_POLL_S", 0.05)
    monkeypatch.setattr(class_archive, "_WRITING_S", 0.3)
    shown: list[str] = []

    def on_progress(_done: int, _total: int, what: str) -> None:
        shown.append(what)
        if not pid.exists():  # it is to have started, however slow the machine is
            monkeypatch.setattr(class_archive, "_WRITING_S", class_archive._WRITING_S + 0.05)

    with pytest.raises(JavaError, match="has not written its classes") as late:
        archive.make_base(on_progress)

    assert late.value.hint is not None and "lastword pipeline prepare" in late.value.hint
    assert "writing classes, in seconds" in shown
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    assert not archive.options()
