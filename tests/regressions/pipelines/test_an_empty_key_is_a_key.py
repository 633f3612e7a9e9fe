"""An empty key is a key like any other, as in Kafka Streams.

It was treated as a missing one: its events were dropped and did not advance stream time, which
changed which events of other keys were late.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.keyspace import Keyspace
from lastword.pipelines import Pipeline, tumbling
from lastword.table.table import Table
from tests.support.on_spark.offline_pipeline import OfflinePipeline
from tests.support.on_spark.pipeline_worker import Worker


@pytest.fixture
def worker(connection: Connection, topic_name: str, tmp_path: Path) -> Iterator[Worker]:
    with Admin(connection) as admin:
        worker = Worker(connection, admin, topic_name, tmp_path)
        yield worker
        worker.driver_lock.leave()
        worker.move_to_another_process()


def test_an_empty_key_moves_stream_time_and_has_windows_of_its_own() -> None:
    app = Pipeline("app", bootstrap_servers="none:1")
    counts = app.stream("events").group_by_key().windowed_by(tumbling(10)).count("counts")
    pipeline = OfflinePipeline(app)
    pipeline.run({"events": [(b"p", b"1", 5, ()), (b"", b"1", 12, ()), (b"p", b"1", 6, ())]})
    first, second = bytes(8), (10).to_bytes(8, "big")
    assert pipeline.table(counts.topic) == {
        b"p" + first: ((1).to_bytes(8, "big"), 5),
        second: ((1).to_bytes(8, "big"), 12),
    }
    assert (pipeline.tally.late, pipeline.tally.keyless) == (1, 0)


def test_an_empty_key_passes_a_repartition_topic_but_not_into_a_table() -> None:
    app = Pipeline("app", bootstrap_servers="none:1")
    emptied = app.stream("events").select_key(lambda _key, _value: "")
    counts = emptied.group_by_key().count("counts")
    emptied.to_table("users")
    pipeline = OfflinePipeline(app)
    pipeline.run({"events": [(b"p", b"1", 5, ()), (None, b"1", 6, ())]})
    assert pipeline.table(counts.topic) == {b"": ((2).to_bytes(8, "big"), 6)}
    assert pipeline.topic("users") == []
    assert pipeline.tally.keyless == 2


def test_a_lost_store_has_the_row_of_the_empty_key_again_and_a_table_leaves_it_out(
    worker: Worker, tmp_path: Path
) -> None:
    key = next(key for key in "abcdefgh" if Keyspace(2).partition_of(key.encode()) == 1)
    worker.run((0, ""), (1, key), (2, ""))
    (tmp_path / worker.plan.application_id).rename(tmp_path / "lost")
    worker.move_to_another_process()
    assert worker.run((3, ""))["restored"] == 2
    assert worker.table == {b"": b"3", key.encode(): b"1"}
    with Table(worker.changelog, connection=worker.connection, store="memory") as counts:
        assert dict(counts.items()) == {key: 1}
        assert counts.metrics.counter("keyless_records_total").value == 2
