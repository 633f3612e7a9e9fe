"""Long tasks against a real broker, without Spark: commits, both modes, fencing, the end."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Producer

from lastword.broker.embedded import EmbeddedBroker
from lastword.errors import FencedError, LastwordError, TakenOverError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.kafka.write.transaction_writer import TransactionWriter
from lastword.pipelines.graph.node import SourcePlan
from lastword.pipelines.graph.own_topics import ensure_topic
from lastword.pipelines.graph.topology import OwnTopic
from lastword.pipelines.operators.events import Tally
from lastword.pipelines.real_time.driver_line import DriverLine
from lastword.pipelines.real_time.live_task import LiveOrder, LiveTask
from lastword.pipelines.real_time.switchboard import Switchboard
from lastword.pipelines.task.task_report import TaskReport
from lastword.records import TopicPartition
from lastword.testing.waiting import wait_until
from tests.support.network.kafka_proxy import END_TXN, FETCH, PRODUCE, Direction, KafkaProxy
from tests.support.on_spark.pipeline_worker import Worker

HOST = "127.0.0.1"


@pytest.fixture
def worker(
    connection: Connection, admin: Admin, topic_name: str, tmp_path: Path
) -> Iterator[Worker]:
    worker = Worker(connection, admin, topic_name, tmp_path)
    yield worker
    worker.driver_lock.leave()
    worker.move_to_another_process()


class Live:
    """A long task over both partitions of the worker's sources, on a thread."""

    def __init__(
        self, worker: Worker, *, once: bool = False, metadata: Callable[[], bytes] | None = None
    ) -> None:
        self.reports: list[TaskReport] = []
        self.failure: LastwordError | None = None
        self.board = Switchboard(
            HOST, metadata or (lambda: worker.driver_lock.metadata), self.reports.extend
        )
        starts = dict.fromkeys(worker.plan.source_partitions, 0)
        until = None
        if once:
            until = {
                place: worker.admin.end_offsets(place.topic, [place.partition])[place.partition]
                for place in starts
            }
        address, token = self.board.address, self.board.token
        order = LiveOrder(address, token, ((0, 1),), starts, 0.02, until)
        self._line = DriverLine(address, token, 0)
        log = KafkaLog(worker.plan.connection)
        self._task = LiveTask(worker.plan, order, 0, self._line, log)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._task.run()
        except LastwordError as error:
            self.failure = error
        finally:
            self._line.close()

    def join(self) -> None:
        """Wait for the end; raises what the task raised."""
        self._thread.join(180)
        assert not self._thread.is_alive()
        self.board.close()
        if self.failure is not None:
            raise self.failure

    def stop(self) -> None:
        self.board.stop_tasks()
        self.join()

    @property
    def tally(self) -> Tally:
        total = Tally()
        for report in self.reports:
            total.add(report.tally)
        return total


def write(
    worker: Worker, keys: Sequence[str], topic: str | None = None, times: Sequence[int] = ()
) -> None:
    """Into partition 1, in order."""
    producer = Producer(worker.connection.librdkafka() | {"linger.ms": 5})
    for i, key in enumerate(keys):
        at_ms = times[i] if times else 1_000 + i
        producer.produce(topic or worker.source, b"{}", key, partition=1, timestamp=at_ms)
    assert producer.flush(30) == 0


def counts(keys: Sequence[str]) -> dict[bytes, bytes]:
    return {key.encode(): str(count).encode() for key, count in Counter(keys).items()}


def keys_of(count: int) -> list[str]:
    return [f"k{n * 7 % 11}" for n in range(count)]


def test_a_run_with_an_end_processes_the_existing_records_and_reports_them(worker: Worker) -> None:
    write(worker, keys_of(500))
    live = Live(worker, once=True)
    live.join()
    assert worker.table == counts(keys_of(500))
    assert worker.position == 500
    wait_until(lambda: live.tally.records == 500, what="the last report")
    assert live.reports[-1].stores["counts"].rows == 11


def test_both_modes_continue_where_the_other_one_ended(worker: Worker) -> None:
    worker.run(*((n, key) for n, key in enumerate(keys_of(20))))
    write(worker, keys_of(30))
    Live(worker, once=True).join()
    assert worker.position == 30
    worker.move_to_another_process()
    again = worker.run(*((n, key) for n, key in enumerate(keys_of(40))))
    assert (again["records"], again["skipped"], again["restored"]) == (10, 30, 0)
    write(worker, keys_of(50)[30:])
    live = Live(worker, once=True)
    live.join()
    assert worker.table == counts(keys_of(50))
    wait_until(lambda: live.tally.records == 10, what="the last report")
    assert live.tally.restored == 0


def test_records_that_arrive_during_the_run_are_committed_until_it_is_stopped(
    worker: Worker,
) -> None:
    live = Live(worker)
    for end in (3, 10, 40):
        first = worker.position if end > 3 else 0
        write(worker, keys_of(end)[first:])
        wait_until(lambda end=end: worker.table == counts(keys_of(end)), what=f"{end} records")
        assert worker.position == end
    live.stop()
    write(worker, ["later"])
    assert worker.position == 40


def test_a_new_generation_of_the_same_driver_only_costs_a_take_over(worker: Worker) -> None:
    live = Live(worker)
    write(worker, ["a"])
    wait_until(lambda: worker.table == {b"a": b"1"}, what="the first record")
    app = worker.plan.application_id
    worker.driver_lock.leave()
    worker.driver_lock = worker.join(app, f"{app}-control")
    write(worker, ["a"])
    wait_until(lambda: worker.table == {b"a": b"2"}, what="the second record")
    live.stop()


def test_a_task_of_a_driver_that_was_replaced_ends_and_writes_nothing(worker: Worker) -> None:
    proof = worker.driver_lock.metadata
    live = Live(worker, metadata=lambda: proof)
    write(worker, ["a"])
    wait_until(lambda: worker.table == {b"a": b"1"}, what="the first record")
    app = worker.plan.application_id
    worker.driver_lock.leave()
    worker.driver_lock = worker.join(app, f"{app}-control")
    write(worker, ["a"])
    with pytest.raises(FencedError):
        live.join()
    assert worker.table == {b"a": b"1"}


def test_a_task_whose_id_was_taken_over_cannot_commit(worker: Worker) -> None:
    live = Live(worker)
    write(worker, ["a"])
    wait_until(lambda: worker.table == {b"a": b"1"}, what="the first record")
    TransactionWriter(worker.connection, worker.plan.transactional_id(1)).take_over()
    write(worker, ["a"])
    with pytest.raises(TakenOverError):
        live.join()
    assert worker.table == {b"a": b"1"}
    Live(worker, once=True).join()
    assert worker.table == {b"a": b"2"}


def test_a_task_that_lost_its_driver_fails_instead_of_being_done(worker: Worker) -> None:
    live = Live(worker)
    wait_until(lambda: live.board.tasks == [0], what="the task")
    live.board.close()
    with pytest.raises(TakenOverError, match="driver is gone"):
        live.join()


@pytest.mark.parametrize(
    ("direction", "api_key"),
    [("response", FETCH), ("request", PRODUCE), ("request", END_TXN), ("response", END_TXN)],
)
def test_a_connection_that_breaks_at_any_step_of_a_commit_costs_and_doubles_nothing(
    worker: Worker, broker: EmbeddedBroker, direction: Direction, api_key: int
) -> None:
    with KafkaProxy(broker.bootstrap_servers) as proxy:
        behind = Connection(bootstrap_servers=proxy.bootstrap_servers)
        worker.plan = replace(worker.plan, connection=behind)
        live = Live(worker)
        write(worker, ["a"])
        wait_until(lambda: worker.table == {b"a": b"1"}, what="the first record")
        proxy.cut_next(direction, api_key)
        write(worker, ["a", "b"])
        wait_until(lambda: worker.table == {b"a": b"2", b"b": b"1"}, what="what was written")
        live.stop()
    assert worker.position == 3


def test_connections_that_all_break_in_the_middle_of_a_commit_cost_and_double_nothing(
    worker: Worker, broker: EmbeddedBroker
) -> None:
    with KafkaProxy(broker.bootstrap_servers) as proxy:
        behind = Connection(bootstrap_servers=proxy.bootstrap_servers)
        worker.plan = replace(worker.plan, connection=behind)
        live = Live(worker)
        write(worker, ["a"])
        wait_until(lambda: worker.table == {b"a": b"1"}, what="the first record")
        with proxy.holding("request", END_TXN) as held:
            write(worker, ["a"])
            held.wait_for(1)
            proxy.cut()
            write(worker, ["b"])
        wait_until(lambda: worker.table == {b"a": b"2", b"b": b"1"}, what="what was written")
        live.stop()
    assert worker.position == 3


def test_two_topics_are_processed_in_the_order_of_time(worker: Worker, topic_name: str) -> None:
    other = f"{topic_name}-other"
    ensure_topic(worker.admin, OwnTopic(other, "repartition"), partitions=2)
    sources = {topic: SourcePlan(topic, "json") for topic in (worker.source, other)}
    worker.plan = replace(worker.plan, sources=sources, nodes=worker.nodes(*sources))
    write(worker, ["a"] * 300, times=range(1_000, 1_300))
    write(worker, ["b"] * 300, other, times=range(1_150, 1_450))
    live = Live(worker, once=True)
    live.join()
    assert worker.table == {b"a": b"300", b"b": b"300"}
    committed = worker.committed
    assert [committed[TopicPartition(each, 1)].offset for each in sources] == [300, 300]
