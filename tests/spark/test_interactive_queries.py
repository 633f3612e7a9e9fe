"""The example of interactive queries, run on the session and the broker of the other tests."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lastword.kafka.connection import Connection

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "interactive_queries.py"


def test_every_instance_answers_for_the_state_of_a_pipeline_while_one_restarts(
    spark: SparkSession,
    connection: Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LASTWORD_HOME", str(tmp_path))
    runpy.run_path(str(EXAMPLE))["main"](connection.bootstrap_servers, spark)
    printed = capsys.readouterr().out.splitlines()
    said = [line for line in printed if "asked" in line]
    assert len(said) == 5
    assert not any("shop-3" in line.partition(":")[2] for line in said[3:])
