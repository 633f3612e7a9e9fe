"""Spark's login is not logged, at any verbosity.

With ``-vv``, Py4J logged every call of Spark, and with it the login line that Kafka's Java client
gets, password included.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from lastword.cli.main import lastword
from lastword.testing.secure_broker import SecureBroker
from tests.support.secret_search import environment_of, lines_with

MODULE = """
from lastword.pipelines import Pipeline

app = Pipeline({topic!r})
app.stream({topic!r}).group_by_key().count("counts")
"""


def test_pipelines_and_snapshots(  # noqa: PLR0917 - fixtures
    secure_broker: SecureBroker,
    spark: SparkSession,
    home: Path,
    topic_name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = f"pipeline_{abs(hash(topic_name))}"
    (tmp_path / f"{module}.py").write_text(MODULE.format(topic=topic_name))
    monkeypatch.chdir(tmp_path)
    environ = environment_of(secure_broker) | {
        "LASTWORD_HOME": str(home),
        "LASTWORD_STATE_DIR": str(tmp_path / "state"),
        "LASTWORD_SNAPSHOTS_LOCATION": str(tmp_path / "snapshots"),
    }
    said = ""
    for run in (
        f"topic create {topic_name} --partitions 1",
        f"put {topic_name} a 1",
        f"pipeline run {module}:app --once -vv",
        f"pipeline rebuild {module}:app counts -vv",
        f"pipeline status {topic_name} -vv",
        f"snapshot create {topic_name} -vv",
        f"snapshot show {topic_name} -vv",
    ):
        answer = CliRunner().invoke(lastword, run.split(), env=environ)
        assert answer.exit_code == 0, answer.output[-2000:]
        said += answer.output
    assert "DEBUG" in said
    assert lines_with(secure_broker.password, said) == []
