"""How a fenced log takes a partition over and gives it up: a part of ``FencedLogContract``."""

# ruff: noqa: D102 - the names of the tests are sentences

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.errors import FencedError, TopicNotFoundError, WriteFailedError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.groups.names import owner_transactional_id
from lastword.kafka.write.fenced import Fence, FencedLog, FenceNote, decode_fence
from lastword.kafka.write.fenced.transactional_producer import Transactions
from lastword.records import FENCE_KEY, Record, Write
from lastword.testing.read_log import read_log
from lastword.topics.creation import create_topic

PARTITIONS = 3
PARTITION = 1
"""The one that the logs append to."""
MESSAGE_BYTES_MAX = 100_000
PATIENT_S = 60.0

MakeLog = Callable[[], FencedLog]


class FenceContract(ABC):
    """The part of the contract about taking over and giving up."""

    @abstractmethod
    def make_log(
        self, connection: Connection, topic: str, transactional_id: str, timeout_s: float
    ) -> FencedLog:
        """A log of ``PARTITION`` whose calls take at most ``timeout_s``."""

    @pytest.fixture
    def connection(self, broker: EmbeddedBroker) -> Connection:
        """How to reach the broker."""
        return Connection(bootstrap_servers=broker.bootstrap_servers)

    @pytest.fixture
    def topic(self, connection: Connection, topic_name: str) -> str:
        """A topic of this test alone."""
        settings = {"max.message.bytes": str(MESSAGE_BYTES_MAX)}
        with Admin(connection) as admin:
            create_topic(admin, topic_name, partitions=PARTITIONS, settings=settings)
        return topic_name

    @pytest.fixture
    def make(self, connection: Connection, topic: str) -> Iterator[MakeLog]:
        """Makes logs with one transactional id, as the instances of an application do."""
        made: list[FencedLog] = []

        def make() -> FencedLog:
            name = owner_transactional_id("tests", topic, PARTITION)
            made.append(self.make_log(connection, topic, name, PATIENT_S))
            return made[-1]

        yield make
        for each in made:
            each.close()

    def test_it_implements_the_protocol(self, make: MakeLog) -> None:
        log = make()
        assert isinstance(log, FencedLog)
        assert log.fence is None

    # -- taking over -------------------------------------------------------------------------

    def test_a_take_over_appends_a_fence_record(
        self, connection: Connection, topic: str, make: MakeLog
    ) -> None:
        log = make()
        fence = log.take_over(FenceNote("one", 7))
        assert log.fence == fence
        assert fence.producer_id >= 0
        assert fence.epoch >= 0
        (found,) = written(connection, topic)
        assert (found.key, found.offset) == (FENCE_KEY, fence.offset)
        record = decode_fence(found.value)
        assert record is not None
        assert (record.instance, record.plan, record.released) == ("one", 7, False)
        assert (record.producer_id, record.epoch) == fence[1:]

    def test_a_deposed_holder_is_refused(
        self, connection: Connection, topic: str, make: MakeLog
    ) -> None:
        old, new = taken_over(make, "old"), taken_over(make, "new")
        with pytest.raises(FencedError) as refused:
            old.append([Write(b"key", b"old")])
        assert refused.value.hint
        assert old.fence is None
        new.append([Write(b"key", b"new")])
        assert values(connection, topic) == [b"new"]

    def test_a_deposed_holder_that_was_writing_is_refused_its_next_batch(
        self, connection: Connection, topic: str, make: MakeLog
    ) -> None:
        old = taken_over(make, "old")
        old.append([Write(b"key", b"1")])
        new = make()
        fence = new.take_over(FenceNote("new", 2))
        for _ in range(2):
            with pytest.raises((FencedError, WriteFailedError)):
                old.append([Write(b"key", b"2")])
        log = [(r.offset < fence.offset, r.value) for r in rows(written(connection, topic))]
        assert log == [(True, b"1")]

    def test_the_place_can_be_taken_back(
        self, connection: Connection, topic: str, make: MakeLog
    ) -> None:
        one, two = make(), make()
        fences: list[Fence] = []
        for turn in range(3):
            for log, name in ((one, "one"), (two, "two")):
                fences.append(log.take_over(FenceNote(name, turn)))
                log.append([Write(b"key", b"%s-%d" % (name.encode(), turn))])
        with pytest.raises(FencedError):
            one.append([Write(b"key", b"late")])
        assert sorted(fences) == fences
        # Another producer id begins at epoch 0; the same one never has an epoch twice.
        assert len({fence[1:] for fence in fences}) == len(fences)
        assert len(values(connection, topic)) == 6

    def test_a_transaction_left_open_is_aborted(
        self, connection: Connection, topic: str, make: MakeLog
    ) -> None:
        name = owner_transactional_id("tests", topic, PARTITION)
        settings = connection.librdkafka() | {"transactional.id": name}
        abandoned = Transactions(settings, topic, PARTITION)
        abandoned.init(lambda: PATIENT_S)
        abandoned.send([Write(b"key", b"aborted")], lambda: PATIENT_S)
        log = taken_over(make)
        log.append([Write(b"key", b"1")])
        assert values(connection, topic) == [b"1"]

    def test_a_topic_that_does_not_exist_is_named(
        self, connection: Connection, topic_name: str
    ) -> None:
        log = self.make_log(connection, topic_name, topic_name, PATIENT_S)
        with pytest.raises(TopicNotFoundError, match=topic_name):
            log.take_over(FenceNote("one", 1))
        log.close()

    # -- proving -----------------------------------------------------------------------------

    def test_a_holder_proves_by_an_append_that_it_still_is_one(
        self, connection: Connection, topic: str, make: MakeLog
    ) -> None:
        log = make()
        fence = log.take_over(FenceNote("one", 7))
        taken_over_at = log.proven_at
        log.prove()
        assert log.proven_at > taken_over_at
        assert log.fence == fence
        first, second = written(connection, topic)
        assert (first.key, first.value) == (second.key, second.value)

    def test_a_deposed_holder_cannot_prove_anything(
        self, connection: Connection, topic: str, make: MakeLog
    ) -> None:
        old = taken_over(make, "old")
        proven_at = old.proven_at
        taken_over(make, "new")
        with pytest.raises(FencedError):
            old.prove()
        assert old.proven_at == proven_at
        assert len(written(connection, topic)) == 2

    # -- giving up ---------------------------------------------------------------------------

    def test_a_release_is_the_last_word_of_a_holder(
        self, connection: Connection, topic: str, make: MakeLog
    ) -> None:
        log = taken_over(make)
        fence = log.fence
        assert fence is not None
        log.append([Write(b"key", b"1")])
        log.release()
        log.release()
        assert log.fence is None
        with pytest.raises(WriteFailedError):
            log.append([Write(b"key", b"2")])
        last = decode_fence(written(connection, topic)[-1].value)
        assert last is not None
        assert (last.released, last.producer_id, last.epoch) == (True, *fence[1:])
        assert taken_over(make).append([Write(b"key", b"3")])

    def test_a_deposed_holder_cannot_release(
        self, connection: Connection, topic: str, make: MakeLog
    ) -> None:
        old = taken_over(make, "old")
        taken_over(make, "new")
        with pytest.raises(FencedError):
            old.release()
        records = [decode_fence(r.value) for r in written(connection, topic)]
        assert [r.released for r in records if r is not None] == [False, False]

    def test_a_renewal_changes_nothing_for_its_holder(
        self, connection: Connection, topic: str, make: MakeLog
    ) -> None:
        log = taken_over(make)
        for n in range(3):
            log.renew()
            log.append([Write(b"key", b"%d" % n)])
        assert values(connection, topic) == [b"0", b"1", b"2"]

    def test_after_a_close_nothing_is_appended(
        self, connection: Connection, topic: str, make: MakeLog
    ) -> None:
        log = taken_over(make)
        log.close()
        log.close()
        with pytest.raises(WriteFailedError):
            log.append([Write(b"key", b"1")])
        assert values(connection, topic) == []


def taken_over(make: MakeLog, instance: str = "one") -> FencedLog:
    """A log that holds its partition."""
    log = make()
    log.take_over(FenceNote(instance, 1))
    return log


def written(connection: Connection, topic: str) -> list[Record]:
    """What is in the log of the topic."""
    return read_log(connection, topic)


def rows(records: list[Record]) -> list[Record]:
    """All but the fence records."""
    return [record for record in records if record.key != FENCE_KEY]


def values(connection: Connection, topic: str) -> list[bytes | None]:
    """The values in the log, without those of fence records."""
    return [record.value for record in rows(written(connection, topic))]
