"""What is known of a running pipeline: states in order, figures by stream, served as text."""

from __future__ import annotations

import sys
from dataclasses import asdict

import httpx
import pytest

from lastword.cli.support.metrics_endpoint import metrics_endpoint
from lastword.errors import ConfigError, ServiceError
from lastword.jvm import ports
from lastword.metric_names import HELP, kind_of
from lastword.pipelines.api.state import TRANSITIONS, PipelineLife, PipelineState
from lastword.pipelines.operators.events import Tally
from lastword.pipelines.run.observer import LEVELS, BatchReport, Observer
from lastword.pipelines.task.task_report import StoreSize, TaskReport, from_row, to_arrow
from lastword.spark.installed import require_spark

S = PipelineState


def figures(observer: Observer) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *(value for name, value in sample.labels if name != "pipeline")): sample.value
        for sample in observer.metrics.samples()
    }


def test_batches_add_up_by_stream_and_stores_show_their_last_size() -> None:
    heard: list[BatchReport] = []
    observer = Observer("app", PipelineLife())
    observer.on_batch = heard.append
    for records in (3, 4):
        report = BatchReport(
            ("a", "b"),
            0.5,
            Tally(records=records, late=1, held_back=records),
            stores={"s": StoreSize(records, 10)},
        )
        observer.batch(report)
    observer.lag({"a": 7})
    observer.lag({"a": 5})
    found = figures(observer)
    assert found["pipeline_records_total", "a+b"] == 7
    assert found["pipeline_late_total", "", "a+b"] == 2
    assert found["pipeline_held_back", "", "a+b"] == 4
    assert found["pipeline_batch_seconds_sum", "a+b"] == 1.0
    assert found["pipeline_store_rows", "s"] == 4
    assert found["pipeline_store_bytes", "s"] == 10
    assert found["pipeline_lag_records", "a"] == 5
    assert [report.tally.records for report in heard] == [3, 4]


@pytest.mark.parametrize("name", asdict(Tally()))
def test_every_count_of_a_batch_is_a_metric_with_a_meaning(name: str) -> None:
    metric, kind = (
        (f"pipeline_{name}", "gauge") if name in LEVELS else (f"pipeline_{name}_total", "counter")
    )
    assert metric in HELP
    assert kind_of(metric) == kind


def test_a_pipeline_makes_valid_transitions_only_and_reports_each() -> None:
    heard: list[tuple[S, S]] = []
    life = PipelineLife()
    life.listener = lambda old, new: heard.append((old, new))
    observer = Observer("app", life)
    for state in (S.STARTING, S.RUNNING, S.PENDING_SHUTDOWN, S.STOPPED, S.STARTING, S.ERROR):
        life.move(state)
        shown = {state: figures(observer)["pipeline_state", state.value] for state in S}
        assert [each for each, value in shown.items() if value] == [state]
    assert all(new in TRANSITIONS[old] for old, new in heard)
    assert len(heard) == 6
    with pytest.raises(RuntimeError, match="from ERROR to STOPPED"):
        life.move(S.STOPPED)


def test_a_report_comes_back_from_its_row() -> None:
    report = TaskReport(
        3, Tally(records=9, restored=2), {"counts": StoreSize(5, 600)}, {"counts": Tally(late=1)}
    )
    (row,) = to_arrow(report).to_pylist()
    assert from_row(row) == report


def test_metrics_are_served_on_the_loopback_address() -> None:
    observer = Observer("app", PipelineLife())
    observer.batch(BatchReport(("clicks",), 0.1, Tally(records=2)))
    (port,) = ports.free_ports(1)
    with metrics_endpoint(observer.metrics, port) as url:
        text = httpx.get(url, timeout=180).text
        assert httpx.get(url.removesuffix("metrics"), timeout=180).status_code == 404
        with (
            pytest.raises(ServiceError, match="cannot listen on"),
            metrics_endpoint(observer.metrics, port),
        ):
            pass
    line = 'lastword_pipeline_records_total{pipeline="app",stream="clicks"} 2'
    assert line in text.splitlines()
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, timeout=60)


def test_a_missing_spark_is_said_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    require_spark()
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(ConfigError) as refused:
        require_spark()
    assert "lastword[spark]" in (refused.value.hint or "")
