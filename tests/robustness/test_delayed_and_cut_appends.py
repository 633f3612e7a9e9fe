"""Batches and acknowledgements that are late or lost, across a take-over: a proxy holds them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.errors import FencedError, IndeterminateError, WriteError, WriteFailedError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.write.fenced import FencedLog, FenceNote
from lastword.kafka.write.fenced.idempotent_log import IdempotentLog
from lastword.kafka.write.fenced.transactional_log import TransactionalLog
from lastword.records import FENCE_KEY, Write
from lastword.testing import wait_until
from lastword.testing.read_log import read_log
from lastword.topics.creation import create_topic
from tests.support.network.kafka_proxy import PRODUCE, KafkaProxy

pytestmark = pytest.mark.broker

MakeLog = Callable[..., FencedLog]
WAYS = {"plain": IdempotentLog, "transactions": partial(TransactionalLog, batch_bytes=100_000)}
IMPATIENT_S = 8.0  # enough for a take-over on a busy machine
PATIENT_S = 60.0


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> MakeLog:
    return WAYS[request.param]


@pytest.fixture
def proxy(broker: EmbeddedBroker) -> Iterator[KafkaProxy]:
    with KafkaProxy(broker.bootstrap_servers) as proxy:
        yield proxy


class Rivals:
    """Two holders of one partition, of which ``old`` is behind the proxy."""

    def __init__(self, broker: EmbeddedBroker, proxy: KafkaProxy, topic: str) -> None:
        self.direct = Connection(bootstrap_servers=broker.bootstrap_servers)
        self.behind = Connection(bootstrap_servers=proxy.bootstrap_servers)
        self.place = topic, 0, f"tests:owner:{topic}:0"
        with Admin(self.direct) as admin:
            create_topic(admin, topic, partitions=1)

    def old(self, way: MakeLog, timeout_s: float) -> FencedLog:
        log = way(self.behind, *self.place, timeout_s=timeout_s)
        log.take_over(FenceNote("old", 1))
        return log

    def new(self, way: MakeLog) -> FencedLog:
        log = way(self.direct, *self.place, timeout_s=PATIENT_S)
        log.take_over(FenceNote("new", 2))
        return log

    def log(self) -> list[bytes | None]:
        """The values in the log, and FENCE_KEY for each fence record."""
        found = read_log(self.direct, self.place[0])
        return [FENCE_KEY if record.key == FENCE_KEY else record.value for record in found]


@pytest.fixture
def rivals(broker: EmbeddedBroker, proxy: KafkaProxy, topic_name: str) -> Rivals:
    return Rivals(broker, proxy, topic_name)


def append_in_background(log: FencedLog, value: bytes) -> Callable[[], list[int] | WriteError]:
    """Append now; the answer, when it is there."""
    answers: list[list[int] | WriteError] = []

    def append() -> None:
        try:
            answers.append(log.append([Write(b"key", value)]))
        except WriteError as error:
            answers.append(error)

    thread = threading.Thread(target=append)
    thread.start()

    def answer() -> list[int] | WriteError:
        thread.join(PATIENT_S)
        return answers[0]

    return answer


def test_a_batch_that_arrives_after_the_take_over_is_refused(
    rivals: Rivals, proxy: KafkaProxy, way: MakeLog
) -> None:
    old = rivals.old(way, IMPATIENT_S)
    answered = proxy.passed["response", PRODUCE]
    with proxy.holding("request", PRODUCE) as held:
        answer = append_in_background(old, b"late")
        held.wait_for(1)
        new = rivals.new(way)
        new.append([Write(b"key", b"1")])
        outcome = answer()
        assert isinstance(outcome, IndeterminateError | WriteFailedError)
    wait_until(
        lambda: proxy.passed["response", PRODUCE] > answered, "the leader has answered the batch"
    )
    new.append([Write(b"key", b"2")])
    assert rivals.log() == [FENCE_KEY, FENCE_KEY, b"1", b"2"]
    old.close()
    new.close()


def test_a_lost_acknowledgement_is_made_good_by_the_same_batch(
    rivals: Rivals, proxy: KafkaProxy, way: MakeLog
) -> None:
    old = rivals.old(way, PATIENT_S)
    for n in range(3):
        proxy.cut_next("response", PRODUCE)
        (offset,) = old.append([Write(b"key", b"%d" % n)])
        record = read_log(rivals.direct, rivals.place[0])[-1]
        assert (record.offset, record.value) == (offset, b"%d" % n)
    assert rivals.log() == [FENCE_KEY, b"0", b"1", b"2"]
    old.close()


def test_a_written_batch_that_is_fenced_on_its_second_try_is_not_called_unwritten(
    rivals: Rivals, proxy: KafkaProxy
) -> None:
    old = rivals.old(IdempotentLog, PATIENT_S)
    proxy.cut_next("response", PRODUCE)
    with proxy.holding("response", PRODUCE) as acknowledgement:
        answer = append_in_background(old, b"written")
        acknowledgement.wait_for(1)
        with proxy.holding("request", PRODUCE) as again:
            acknowledgement.release()
            again.wait_for(1)
            rivals.new(IdempotentLog).close()
    assert isinstance(answer(), IndeterminateError)
    assert rivals.log() == [FENCE_KEY, b"written", FENCE_KEY]
    with pytest.raises(WriteFailedError):
        old.append([Write(b"key", b"more")])
    old.close()


def test_a_batch_that_never_arrived_is_fenced_for_certain(
    rivals: Rivals, proxy: KafkaProxy
) -> None:
    old = rivals.old(IdempotentLog, PATIENT_S)
    with proxy.holding("request", PRODUCE) as held:
        answer = append_in_background(old, b"never")
        held.wait_for(1)
        rivals.new(IdempotentLog).close()
    assert isinstance(answer(), FencedError)
    assert rivals.log() == [FENCE_KEY, FENCE_KEY]
    old.close()
