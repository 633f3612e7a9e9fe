"""One partition's task against a real broker, without Spark: attempts, take-overs, fencing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from confluent_kafka import TopicPartition as KafkaPartition

from lastword.errors import (
    ConfigError,
    FencedError,
    PartitionCountError,
    PipelineError,
)
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.groups import Committed
from lastword.kafka.groups.driver_lock import DriverLock
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.kafka.write.transaction_writer import NOW, TransactionWriter
from lastword.pipelines.graph.offset_metadata import join_metadata
from lastword.pipelines.graph.own_topics import ensure_topic
from lastword.pipelines.graph.task_plan import BatchOrder
from lastword.pipelines.graph.topology import OwnTopic
from lastword.pipelines.run.continuity import check_continuity, starting_offsets
from lastword.pipelines.run.status import pipeline_status
from lastword.pipelines.task import run_task as task
from lastword.pipelines.task.replay_task import ReplayPlan, replay_task
from lastword.pipelines.task.task_input import PIECE_BYTES
from lastword.records import TopicPartition
from lastword.replicas.apply.checkpoint import decode_checkpoint, encode_checkpoint
from lastword.rows import encode_row
from lastword.spark.arrow_batches import arrow_settings
from lastword.stores.rocksdb import RocksDBStore
from lastword.testing.waiting import wait_until
from tests.support.local_tables.tables import write_raw
from tests.support.on_spark.pipeline_worker import Worker, attempt, batch


@pytest.fixture
def worker(
    connection: Connection, admin: Admin, topic_name: str, tmp_path: Path
) -> Iterator[Worker]:
    worker = Worker(connection, admin, topic_name, tmp_path)
    yield worker
    worker.driver_lock.leave()
    worker.move_to_another_process()


def test_results_and_position_are_committed_together(worker: Worker) -> None:
    assert worker.run((5, "a"), (6, "b"), (7, "a"))["records"] == 3
    assert worker.table == {b"a": b"2", b"b": b"1"}
    assert worker.position == 8


def test_a_batch_larger_than_memory_is_committed_in_pieces(worker: Worker) -> None:
    large = pa.array([b'"' + b"x" * PIECE_BYTES + b'"'], pa.binary())
    batches = [
        next(batch(worker.source, record)).set_column(1, "value", large)
        for record in ((0, "a"), (1, "a"), (2, "b"))
    ]
    order = BatchOrder(worker.committed, worker.driver_lock.metadata)
    # The second one goes on where a first attempt, which got that far, has committed.
    for given, processed in ((batches[:2], [1, 1]), (batches, [0, 0, 1])):
        reports = task.run_task(iter(given), worker.plan, order)
        assert [report.to_pylist()[0]["records"] for report in reports] == processed
    assert worker.table == {b"a": b"2", b"b": b"1"}
    assert worker.position == 3


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_repeated_attempt_skips_committed_records(worker: Worker, elsewhere: bool) -> None:
    worker.run((0, "a"), (1, "a"))
    if elsewhere:
        worker.move_to_another_process()
    report = worker.run((0, "a"), (1, "a"), (2, "b"))
    assert (report["skipped"], report["records"]) == (2, 1)
    assert worker.table == {b"a": b"2", b"b": b"1"}
    assert worker.run((0, "a"), (1, "a"), (2, "b"))["records"] == 0


def test_two_attempts_at_the_same_time_commit_once(worker: Worker, tmp_path: Path) -> None:
    plans = [replace(worker.plan, state_dir=tmp_path / machine) for machine in "ab"]
    keys = [f"k{i % 7}" for i in range(60)]
    with ProcessPoolExecutor(2, get_context("spawn")) as machines:
        for first in range(0, 60, 20):
            records = list(enumerate(keys))[first : first + 20]
            order = BatchOrder(worker.committed, worker.driver_lock.metadata)
            attempts = [
                machines.submit(attempt, plan, order, worker.source, records) for plan in plans
            ]
            reports = [each.result(180) for each in attempts]
            assert sorted(report["records"] for report in reports) == [0, 20]
            assert worker.position == first + 20
    assert worker.table == {k.encode(): str(n).encode() for k, n in Counter(keys).items()}


def test_a_writer_that_was_taken_over_is_taken_back_and_reported_as_one_attempt(
    worker: Worker, tmp_path: Path
) -> None:
    worker.run((0, "a"))
    TransactionWriter(worker.connection, worker.plan.transactional_id(1)).take_over()
    (tmp_path / worker.plan.application_id).rename(tmp_path / "gone")
    report = worker.run((1, "a"))
    assert (report["records"], report["updates"], report["restored"]) == (1, 1, 1)
    assert worker.table == {b"a": b"2"}


def test_a_partition_that_comes_back_to_a_worker_costs_no_restore(worker: Worker) -> None:
    key = task.writer_key(worker.plan, 1)
    worker.run((0, "a"))
    first_process = task._held.pop(key)
    worker.run((1, "a"))
    task._held[key] = first_process
    report = worker.run((2, "a"))
    assert (report["records"], report["restored"]) == (1, 0)
    assert worker.table == {b"a": b"3"}


def test_an_open_transaction_of_a_dead_worker_is_never_visible(worker: Worker) -> None:
    worker.run((0, "a"))
    dead = TransactionWriter(worker.connection, worker.plan.transactional_id(1))
    dead.take_over()
    dead._producer.begin_transaction()
    dead._produce_all({TopicPartition(worker.changelog, 1): [(b"a", b"99", NOW, ())]})
    assert worker.run((1, "a"))["records"] == 1
    assert worker.table == {b"a": b"2"}


def test_a_driver_that_was_replaced_cannot_commit(worker: Worker) -> None:
    worker.run((0, "a"))
    zombie = BatchOrder({}, worker.driver_lock.metadata)
    worker.driver_lock.leave()
    app = worker.plan.application_id
    worker.driver_lock = worker.join(app, f"{app}-control")
    with pytest.raises(FencedError):
        list(task.run_task(batch(worker.source, (1, "a")), worker.plan, zombie))
    assert worker.table == {b"a": b"1"}
    assert worker.run((1, "a"))["records"] == 1
    assert worker.table == {b"a": b"2"}
    assert worker.position == 2


def test_a_store_that_is_ahead_of_the_commit_is_restored(worker: Worker, tmp_path: Path) -> None:
    worker.run((0, "a"))
    path = tmp_path / worker.plan.application_id / "counts" / "1" / "store"
    store = RocksDBStore(path)
    store.open()
    checkpoint = decode_checkpoint(store.checkpoint())
    assert checkpoint is not None
    ahead = msgspec.structs.replace(checkpoint, next_offset=checkpoint.next_offset + 50)
    rows = {b"a": encode_row(0, 1, None, b"77"), b"ghost": encode_row(0, 1, None, b"1")}
    store.apply(rows, (), encode_checkpoint(ahead))
    store.close()
    report = worker.run((1, "a"), (2, "ghost"))
    assert report["restored"] == 1
    assert worker.table == {b"a": b"2", b"ghost": b"1"}


def test_a_store_that_cannot_be_read_is_restored(worker: Worker, tmp_path: Path) -> None:
    worker.run((0, "a"))
    path = tmp_path / worker.plan.application_id / "counts" / "1" / "store"
    (path / "CURRENT").write_text("damaged\n")
    assert worker.run((1, "a"))["restored"] == 1
    assert worker.table == {b"a": b"2"}


def test_keys_that_another_partitioner_put_here_are_restored_too(
    worker: Worker, tmp_path: Path
) -> None:
    keys = [f"k{i}" for i in range(20)]
    worker.run(*enumerate(keys))
    (tmp_path / worker.plan.application_id).rename(tmp_path / "gone")
    worker.run(*((20 + i, key) for i, key in enumerate(keys)))
    assert worker.table == {key.encode(): b"2" for key in keys}


def test_a_changelog_that_does_not_come_of_its_events_is_found_out(worker: Worker) -> None:
    worker.run((0, "a"), (1, "b"), (2, "c"))
    known = join_metadata([worker.committed[TopicPartition(worker.source, 1)].metadata])
    plan = ReplayPlan(worker.plan, "counts", {1: known.changelogs["counts"]})

    def replayed(*keys: str) -> dict[str, int]:
        (counts,) = replay_task(batch(worker.source, *enumerate(keys)), plan)
        return dict(counts.to_pylist()[0])

    assert replayed("c", "b", "a") == {
        "events": 3,
        "rows": 3,
        "different": 0,
        "missing": 0,
        "extra": 0,
    }
    assert replayed("a", "a", "c", "d") == {
        "events": 4,
        "rows": 2,
        "different": 1,
        "missing": 1,
        "extra": 1,
    }


def test_a_note_that_is_too_long_for_the_brokers_is_named(worker: Worker) -> None:
    writer = TransactionWriter(worker.connection, "long-notes")
    writer.take_over()
    place = TopicPartition(worker.source, 1)

    def commit(length: int) -> None:
        positions = {place: Committed(0, "x" * length)}
        writer.write({}, lambda _: positions, worker.driver_lock.metadata)

    commit(4_000)
    with pytest.raises(ConfigError, match="larger than the brokers accept"):
        commit(4_097)
    assert len(worker.committed[place].metadata) == 4_000


def test_a_partition_that_was_added_stops_the_task(worker: Worker) -> None:
    with pytest.raises(PartitionCountError, match="had 2 partitions"):
        list(
            task.run_task(
                batch(worker.source, (0, "a"), partition=2), worker.plan, BatchOrder({}, b"")
            )
        )


def test_two_drivers_that_start_at_the_same_moment_do_not_both_run(
    connection: Connection, admin: Admin, topic_name: str
) -> None:
    ensure_topic(admin, OwnTopic(topic_name, "control"), partitions=1)
    lost: list[str] = []
    first, second = (
        DriverLock(connection, topic_name, topic_name, client_id=n, on_lost=lambda: lost.append(""))
        for n in ("first", "second")
    )
    first.join()
    generation = first.metadata
    # Past the look that a driver takes before it joins, as if both had looked at once.
    second._wait_for_the_dead = lambda: None  # type: ignore[method-assign]
    try:
        try:
            second.join()
        except FencedError as error:
            assert "first" in str(error)
            wait_until(lambda: first.metadata != generation, what="a new generation")
            assert not first.lost
        else:
            wait_until(lambda: first.lost, what="the first to give way")
            assert lost == [""]
    finally:
        first.leave()
        second.leave()


def test_results_without_positions_and_positions_without_results_are_refused(
    worker: Worker,
) -> None:
    worker.run((0, "a"))
    committed, log_source = worker.committed, KafkaLog(worker.connection)
    check_continuity(worker.admin, log_source, worker.plan, committed)
    with pytest.raises(PipelineError, match="are gone"):
        check_continuity(worker.admin, log_source, worker.plan, {})
    worker.admin.delete(worker.changelog)
    ensure_topic(worker.admin, OwnTopic(worker.changelog, "changelog"), partitions=2)
    with pytest.raises(PipelineError, match="deleted and recreated"):
        check_continuity(worker.admin, log_source, worker.plan, committed)


def test_how_a_pipeline_is_doing_is_seen_from_outside(worker: Worker) -> None:
    app = worker.plan.application_id
    with pytest.raises(PipelineError, match="has run on this cluster"):
        pipeline_status(worker.connection, f"{app}-other")
    write_raw(worker.connection, worker.source, [(b"k", b"{}")] * 5, partition=1)
    write_raw(worker.connection, worker.source, [(b"k", b"{}")] * 2, partition=0)
    worker.run((0, "a"), (1, "b"))
    found = pipeline_status(worker.connection, app)
    assert found.driver is not None
    assert found.driver.client_id == "driver"
    (source,) = found.sources
    assert (source.topic, source.positions) == (worker.source, {1: 2})
    assert found.lag == source.lag == 5
    (store,) = found.stores
    assert (store.store, store.changelog, store.partitions) == ("counts", worker.changelog, 2)
    assert store.offsets >= 2
    assert store.size_bytes > 0
    worker.driver_lock.leave()
    assert pipeline_status(worker.connection, app).driver is None


def test_positions_wait_for_an_open_commit(worker: Worker) -> None:
    worker.run((0, "a"))
    writer = TransactionWriter(worker.connection, worker.plan.transactional_id(1))
    writer.take_over()
    writer._producer.begin_transaction()
    moved = [KafkaPartition(worker.source, 1, 7)]
    metadata = worker.driver_lock.metadata
    writer._producer.send_offsets_to_transaction(moved, metadata, 10)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(lambda: worker.position)
        with pytest.raises(TimeoutError):
            asked.result(1.0)
        writer._producer.commit_transaction(10)
        assert asked.result(180) == 7
    worker.move_to_another_process()


def test_a_run_starts_at_its_positions_and_says_what_was_deleted_before_it_came(
    worker: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    write_raw(worker.connection, worker.source, [(b"k", b"{}")] * 5, partition=1)

    def start_at(position: int) -> dict[int, int]:
        committed = {TopicPartition(worker.source, 1): Committed(position, "")}
        return starting_offsets(worker.admin, worker.plan, committed)[worker.source]

    assert start_at(2) == {0: 0, 1: 2}
    worker.admin.delete_before(worker.source, {1: 3})
    assert start_at(4) == {0: 0, 1: 4}
    assert "deleted before" not in caplog.text
    assert start_at(2) == {0: 0, 1: 3}
    assert "1 offsets were deleted before they were processed" in caplog.text


def test_arrow_batches_are_so_small_that_the_largest_records_fit(
    admin: Admin, topic_name: str
) -> None:
    large = f"{topic_name}-large"
    admin.create(topic_name, partitions=1, replication=1)
    admin.create(large, partitions=1, replication=1, settings={"max.message.bytes": str(100 << 20)})
    records = "spark.sql.execution.arrow.maxRecordsPerBatch"
    usual = int(arrow_settings(admin, [topic_name])[records])
    assert 500 <= usual <= 2_000
    both = arrow_settings(admin, [topic_name, large])
    assert int(both[records]) * (100 << 20) < 1 << 31
    assert both["spark.sql.execution.arrow.maxBytesPerBatch"] == str((1 << 31) - 1)
