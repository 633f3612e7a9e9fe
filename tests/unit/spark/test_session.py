"""What a session needs of Java and of the environment, and what it leaves behind."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession

from lastword.jvm.java import Java
from lastword.spark.session import (
    _environment,
    _jar_settings,
    _running_session,
    java_home_for_spark,
)


def test_the_wrapper_of_java_never_runs_itself(tmp_path: Path) -> None:
    """A child whose JAVA_HOME is the wrapper would otherwise make it call itself for ever."""
    real = Java(Path(sys.executable), 17, "PATH")
    wrapper = java_home_for_spark(real, tmp_path) / "bin" / "java"
    java_home_for_spark(Java(wrapper, 17, "JAVA_HOME"), tmp_path)
    assert f'exec "{Path(sys.executable).resolve()}"' in wrapper.read_text()


def test_the_environment_is_the_users_again_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/of/the/user")
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    with _environment(JAVA_HOME="/ours", PYSPARK_PYTHON="python"):
        assert os.environ["JAVA_HOME"] == "/ours"
    assert os.environ["JAVA_HOME"] == "/of/the/user"
    assert "PYSPARK_PYTHON" not in os.environ


def test_jars_for_s3_do_not_change_the_class_path_of_the_archive() -> None:
    kafka, s3a = Path("/jars/kafka.jar"), Path("/jars/s3a.jar")
    assert _jar_settings([kafka], [], "local[2]") == {"spark.driver.extraClassPath": str(kafka)}
    assert _jar_settings([kafka], [s3a], "local[2]") == {
        "spark.driver.extraClassPath": str(kafka),
        "spark.jars": f"local:{s3a}",
    }
    assert _jar_settings([kafka], [s3a], "spark://host:7077") == {"spark.jars": f"{kafka},{s3a}"}


@pytest.mark.parametrize("is_running", [True, False])
def test_a_session_whose_context_was_stopped_is_not_running(
    is_running: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PySpark still calls it the active one."""
    java = object() if is_running else None
    session = SimpleNamespace(sparkContext=SimpleNamespace(_jsc=java))
    monkeypatch.setattr(SparkSession, "active", lambda: session)
    assert _running_session() is (session if is_running else None)
