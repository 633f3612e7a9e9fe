"""The example of schema evolution, run on the session and the broker of the other tests."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lastword.kafka.connection import Connection

EXAMPLE = Path(__file__).parents[2] / "examples" / "schema_evolution"


def test_three_versions_live_side_by_side_through_compaction_snapshots_and_a_pipeline(
    spark: SparkSession,
    connection: Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LASTWORD_HOME", str(tmp_path))
    monkeypatch.syspath_prepend(str(EXAMPLE))
    example = runpy.run_path(str(EXAMPLE / "schema_evolution.py"))
    example["main"](connection.bootstrap_servers, spark)
    printed = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in printed] == [
        "read as version 3",
        "after compaction",
        "before compaction",
        "rewritten",
    ]
    assert printed[-1] == "rewritten: 3"
