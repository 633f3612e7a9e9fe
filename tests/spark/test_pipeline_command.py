"""``lastword pipeline run``: finds the pipeline, runs it, prints the result of each batch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from lastword.cli.main import lastword
from lastword.keyspace import Keyspace
from lastword.pipelines import Pipeline
from tests.support.local_tables.tables import write_raw
from tests.support.on_spark.pipelines import Bench

MODULE = """
from lastword.pipelines import Pipeline

app = Pipeline({application_id!r})
counts = app.stream({source!r}).group_by_key().count("counts")
nothing = 3
"""


def run(bench: Bench, *arguments: str) -> Result:
    servers = bench.connection.bootstrap_servers
    command = ["pipeline", "run", *arguments, "--bootstrap-servers", servers]
    return CliRunner().invoke(
        lastword, command, env={"LASTWORD_STATE_DIR": str(bench.directory / "state")}
    )


@pytest.fixture
def module(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module in the current directory that declares a pipeline."""
    name = f"pipeline_{abs(hash(bench.source))}"
    text = MODULE.format(application_id=f"app-{bench.source}", source=bench.source)
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_each_batch_prints_a_line(bench: Bench, spark: SparkSession, module: str) -> None:
    bench.write([("a", {}, 1), ("b", {}, 2), (None, {}, 3)])
    answer = run(bench, f"{module}:app", "--once", "--json")
    assert answer.exit_code == 0, answer.output
    report = json.loads(answer.stdout)
    assert report["sources"] == [bench.source]
    assert (report["records"], report["updates"], report["keyless"]) == (3, 2, 1)
    assert report["lag"] == 0
    assert report["stores"]["counts"]["rows"] >= 2
    assert report["stores"]["counts"]["bytes"] > 0
    assert (bench.directory / "state" / f"app-{bench.source}" / "counts").is_dir()

    bench.write([("a", {}, 4)])
    answer = run(bench, f"{module}:app", "--once", "--mode", "real-time")
    assert f"{bench.source}: 1 records in " in answer.stdout
    assert " 1 updates; 0 to come; counts has " in answer.stdout

    status = ["pipeline", "status", "--bootstrap-servers", bench.connection.bootstrap_servers]
    shown = CliRunner().invoke(lastword, [*status, f"app-{bench.source}"]).stdout
    assert "not running" in shown
    assert f"app-{bench.source}-counts-changelog" in shown
    listed = CliRunner().invoke(lastword, [*status, "--json"]).stdout.splitlines()
    (found,) = [json.loads(line) for line in listed if f'"app-{bench.source}"' in line]
    assert (found["driver"], found["lag"], found["stores"]) == (None, 0, 1)


def test_events_are_folded_again_and_compared(
    bench: Bench, spark: SparkSession, module: str
) -> None:
    bench.write([("a", {}, 1), ("b", {}, 2), ("a", {}, 3)])
    assert run(bench, f"{module}:app", "--once").exit_code == 0
    servers = bench.connection.bootstrap_servers
    command = ["pipeline", "rebuild", f"{module}:app", "counts", "--bootstrap-servers", servers]
    answer = CliRunner().invoke(lastword, command)
    assert (answer.exit_code, answer.stdout) == (0, "counts: 3 events give 2 rows: all equal\n")
    changelog = f"app-{bench.source}-counts-changelog"
    beside_a = Keyspace(bench.admin.describe(changelog).partitions).partition_of(b"a")
    write_raw(bench.connection, changelog, [(b"z", b"1")], partition=beside_a)
    bench.write([("a", {}, 4)])
    assert run(bench, f"{module}:app", "--once").exit_code == 0
    answer = CliRunner().invoke(lastword, [*command, "--json"])
    assert answer.exit_code == 1
    assert json.loads(answer.stdout)["extra"] == 1


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("app", "names no pipeline"),
        ("no_such_module:app", "there is no module"),
        ("{module}:missing", "is not a Pipeline"),
        ("{module}:nothing", "is not a Pipeline"),
    ],
)
def test_an_object_that_is_not_a_pipeline_is_refused(
    bench: Bench, module: str, target: str, message: str
) -> None:
    answer = run(bench, target.format(module=module))
    assert answer.exit_code == 2
    assert message in answer.stderr


def test_a_pipeline_without_a_state_directory_keeps_its_stores_below_the_home(
    bench: Bench, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LASTWORD_HOME", str(bench.directory / "home"))
    app = Pipeline(f"app-{bench.source}", connection=bench.connection)
    app.stream(bench.source).group_by_key().count("counts")
    bench.write([("a", {}, 1)])
    app.run(once=True)
    assert (bench.directory / "home" / "state" / f"app-{bench.source}" / "counts").is_dir()
