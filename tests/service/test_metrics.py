"""The figures at /metrics: all there, all explained, all moving."""

from __future__ import annotations

import re

import httpx

from lastword.broker.scrape import ScrapedSample, parse
from lastword.metric_names import HELP, NAMESPACE, kind_of
from lastword.testing import wait_until
from tests.service.conftest import Serve
from tests.support.served.event_stream import watching


def samples(client: httpx.Client) -> list[ScrapedSample]:
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return parse(answer.text)


def value(found: list[ScrapedSample], name: str, **labels: str) -> float:
    """The one sample of that name and these labels."""
    (sample,) = [
        each
        for each in found
        if each.name == NAMESPACE + name and labels.items() <= each.labels.items()
    ]
    return sample.value


def test_every_operation_is_counted_and_timed(serve: Serve) -> None:
    with serve().client() as client:
        client.put("/table/a", json=1)
        client.put("/table/a", json=2)
        for _ in range(3):
            client.get("/table/a")
        client.get("/table/absent")
        client.delete("/table/a")
        client.get("/table")
        client.post("/table", json={"records": [{"op": "put", "key": "b", "value": 1}]})
        found = samples(client)
        text = client.get("/metrics").text
    for operation, times in {"get": 4, "put": 2, "delete": 1, "scan": 1, "put_many": 1}.items():
        assert value(found, "operation_seconds_count", operation=operation) == times, operation
        assert value(found, "operation_seconds_sum", operation=operation) > 0
        buckets = [
            each.value
            for each in found
            if each.name == NAMESPACE + "operation_seconds_bucket"
            and each.labels["operation"] == operation
        ]
        assert buckets == sorted(buckets)
        assert buckets[-1] == times
    assert value(found, "http_requests_total", operation="get_key", status="200") == 3
    assert value(found, "http_requests_total", operation="get_key", status="404") == 1
    assert value(found, "http_request_seconds_count", operation="put_key") == 2
    assert "# TYPE lastword_operation_seconds histogram" in text


def test_watching_is_counted(serve: Serve) -> None:
    serving = serve()
    with serving.client() as client, watching(client, "/tables/table/watch") as events:
        serving.table.put_many([(f"k{n}", n) for n in range(10)])
        events.take(10)
        found = samples(client)
    assert value(found, "watchers") == 1
    assert value(found, "watch_changes_total") == 10
    assert value(found, "operation_seconds_count", operation="watch") >= 1


def test_restore_lag_and_the_log_are_shown_per_partition(serve: Serve) -> None:
    serving = serve()
    serving.table.put_many([(f"k{n}", n) for n in range(30)])
    with serving.client() as client:
        client.post("/tables/table/survey")
        # The end of the log is looked at once a second.
        wait_until(lambda: _sum_of(samples(client), "log_end_offset") == 30, "a look at the end")
        found = samples(client)
    assert value(found, "table_ready") == 1
    assert _sum_of(found, "keys") == _sum_of(found, "position") == 30
    assert _sum_of(found, "log_records") == 30
    assert _sum_of(found, "lag_records") == _sum_of(found, "lag_seconds") == 0
    assert _sum_of(found, "log_bytes") > 0


def test_the_bytes_of_rocksdb_are_counted(http: httpx.Client) -> None:
    before = _sum_of(samples(http), "store_bytes_written_total", "texts")
    for number in range(20):
        http.put(f"/tables/texts/keys/bytes-{number}", json="x" * 1000)
        http.get(f"/tables/texts/keys/bytes-{number}")
    found = samples(http)
    assert _sum_of(found, "store_bytes_written_total", "texts") >= before + 20_000
    assert _sum_of(found, "store_bytes_read_total", "texts") >= 20_000


def _sum_of(found: list[ScrapedSample], name: str, table: str = "table") -> float:
    """All three partitions together."""
    full = NAMESPACE + name
    of_table = [s.value for s in found if s.name == full and s.labels.get("table") == table]
    assert len(of_table) == 3, f"{name} of each partition"
    return sum(of_table)


def test_every_metric_is_explained_and_no_explanation_is_left_over(http: httpx.Client) -> None:
    http.post("/tables/texts/survey")
    text = http.get("/metrics").text
    explained = set(re.findall(rf"^# HELP {NAMESPACE}(\w+) ", text, re.M))
    typed = dict(re.findall(rf"^# TYPE {NAMESPACE}(\w+) (\w+)$", text, re.M))
    assert explained <= HELP.keys()
    assert typed == {name: kind_of(name) for name in explained}
    only_of_a_local_broker = {
        "dirty_ratio",
        "cleanable_bytes",
        "log_segments",
        "compaction_lag_seconds",
        "last_clean_timestamp_seconds",
    }
    once_somebody_watched = {"watchers", "watchers_lost_total"}
    of_partitioned_tables = {
        "copy_age_seconds",
        "routed_reads_total",
        "routed_writes_total",
        "standby_reads_total",
        "too_stale_reads_total",
    }
    others = ("pipeline_", "cluster_", "owned_", "cdc_")
    of_others = {name for name in HELP if name.startswith(others)}
    missing = HELP.keys() - explained - of_others - of_partitioned_tables
    assert missing <= only_of_a_local_broker | once_somebody_watched


def test_the_process_is_shown(http: httpx.Client) -> None:
    found = samples(http)
    assert value(found, "process_resident_bytes") > 10_000_000
    assert value(found, "process_cpu_seconds_total") > 0
    assert value(found, "process_open_files") > 3
    assert value(found, "process_threads") > 3
