"""The archive of Spark's classes is that of one PySpark, however its directory is reached."""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest

from lastword.jvm.java import Java
from lastword.spark.spark_classes import spark_archive

JAVA = Java(Path("/usr/bin/java"), 17, "PATH")


def test_an_environment_behind_a_link_has_the_same_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = spark_archive(tmp_path, JAVA, [])
    link = tmp_path / "link"
    link.symlink_to(Path(pyspark.__file__).resolve().parent)
    monkeypatch.setattr(pyspark, "__file__", str(link / "__init__.py"))
    assert spark_archive(tmp_path, JAVA, []) == before
    monkeypatch.setattr(pyspark, "__version__", "another")
    assert spark_archive(tmp_path, JAVA, []) != before
