"""What every fenced log must do, as tests: subclass, say how to make one, and run pytest.

    class TestMyLog(FencedLogContract):
        def make_log(self, connection, topic, transactional_id, timeout_s) -> FencedLog:
            return MyLog(connection, topic, PARTITION, transactional_id, ...)

The tests run on the plugin's ``broker``.
"""

# ruff: noqa: D102 - the names of the tests are sentences

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from random import Random

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.clock import SYSTEM_CLOCK
from lastword.errors import (
    FencedError,
    IndeterminateError,
    InvalidRecordError,
    LastwordError,
    TopicNotFoundError,
    WriteFailedError,
)
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.groups.names import owner_transactional_id
from lastword.kafka.write.fenced import Fence, FencedLog, FenceNote, decode_fence
from lastword.kafka.write.fenced.transactions import Transactions
from lastword.kafka.write.producer import RecordProducer
from lastword.records import ABSENT, FENCE_KEY, REQUEST_HEADER, Header, Record, Version, Write
from lastword.testing.logs import read_log
from lastword.testing.waiting import wait_until
from lastword.topics.creation import create_topic

PARTITIONS = 3
PARTITION = 1
"""The one that the logs append to."""
MESSAGE_BYTES_MAX = 100_000
PATIENT_S = 60.0
IMPATIENT_S = 2.0  # for answers that will not come
_TOO_LARGE = Random(1).randbytes(MESSAGE_BYTES_MAX)  # noqa: S311 - of no use to compression

MakeLog = Callable[[], FencedLog]


class FencedLogContract(ABC):
    """The contract of a fenced log of partition 1 of a topic."""

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

    # -- appending ---------------------------------------------------------------------------

    def test_an_append_says_where_each_record_is(
        self, connection: Connection, topic: str, make: MakeLog
    ) -> None:
        log = taken_over(make)
        offsets: list[int] = []
        for first in range(0, 320, 32):
            records = [Write(b"key-%d" % n, b"%d" % n) for n in range(first, first + 32)]
            offsets += log.append(records)
        found = rows(written(connection, topic))
        assert [r.offset for r in found] == offsets
        assert [r.value for r in found] == [b"%d" % n for n in range(320)]
        assert {r.partition for r in found} == {PARTITION}

    def test_nothing_to_append_has_no_offsets(self, make: MakeLog) -> None:
        assert taken_over(make).append([]) == []

    def test_records_arrive_as_given(
        self, connection: Connection, topic: str, make: MakeLog
    ) -> None:
        headers: tuple[Header, ...] = (
            (REQUEST_HEADER, bytes(range(16))),
            ("empty", None),
            ("é", b""),
        )
        before_ms = SYSTEM_CLOCK.now_ms()
        taken_over(make).append(
            [
                Write(b"key", b"1", headers, 7),
                Write(b"key", None, headers, 8),
                Write(b"key", b"", partition=PARTITION),
            ]
        )
        put, tombstone, empty = rows(written(connection, topic))
        assert (put.value, tombstone.value, empty.value) == (b"1", None, b"")
        assert put.headers == tombstone.headers == headers
        assert (put.timestamp_ms, tombstone.timestamp_ms) == (7, 8)
        assert before_ms <= empty.timestamp_ms <= SYSTEM_CLOCK.now_ms()

    def test_offsets_hold_beside_a_writer_that_is_not_fenced(
        self, connection: Connection, topic: str, make: MakeLog
    ) -> None:
        log = taken_over(make)
        other = RecordProducer(
            connection, topic, batch_bytes=MESSAGE_BYTES_MAX, timeout_s=PATIENT_S
        )
        offsets: list[int] = []
        for n in range(5):
            other.send([Write(b"key", b"foreign", partition=PARTITION)])
            offsets += log.append([Write(b"key", b"%d" % n), Write(b"key", b"%d" % n)])
        other.close()
        found = [r.offset for r in rows(written(connection, topic)) if r.value != b"foreign"]
        assert found == offsets

    @pytest.mark.parametrize(
        "bad",
        [
            Write(b"", b"an empty key"),
            Write(FENCE_KEY, b"the key of fence records"),
            Write(b"bad", b"the first millisecond of 1970", timestamp_ms=0),
            Write(b"bad", b"not headers", (("name", "text"),)),  # type: ignore[arg-type]
            Write(b"bad", _TOO_LARGE),
            Write(b"bad", b"if it is not there", expected=ABSENT),
            Write(b"bad", b"if it is that version", expected=Version(1, 1)),
            Write(b"bad", b"of another partition", partition=0),
        ],
        ids=["key", "fence", "timestamp", "headers", "size", "absent", "version", "partition"],
    )
    def test_a_record_that_is_refused_refuses_all_of_them(
        self, connection: Connection, topic: str, make: MakeLog, bad: Write
    ) -> None:
        log = taken_over(make)
        with pytest.raises(InvalidRecordError) as refused:
            log.append([Write(b"good", b"1"), bad, Write(b"good", b"2")])
        assert refused.value.hint
        assert log.fence is not None
        log.append([Write(b"good", b"3")])
        assert values(connection, topic) == [b"3"]

    def test_nothing_is_appended_without_a_take_over(
        self, connection: Connection, topic: str, make: MakeLog
    ) -> None:
        with pytest.raises(WriteFailedError, match="not held"):
            make().append([Write(b"key", b"1")])
        assert written(connection, topic) == []

    def test_an_acknowledged_append_proves_the_fence_as_of_its_start(self, make: MakeLog) -> None:
        log = make()
        assert log.proven_at == float("-inf")
        log.take_over(FenceNote("one", 1))
        before = SYSTEM_CLOCK.monotonic()
        log.append([Write(b"key", b"1")])
        proven = log.proven_at
        assert before <= proven <= SYSTEM_CLOCK.monotonic()
        taken_over(make)
        with pytest.raises(FencedError):
            log.append([Write(b"key", b"2")])
        assert log.proven_at == proven

    def test_what_a_frozen_broker_does_not_answer_is_never_said_to_be_written(
        self, broker: EmbeddedBroker, connection: Connection, topic: str
    ) -> None:
        name = owner_transactional_id("tests", topic, PARTITION)
        log = self.make_log(connection, topic, name, IMPATIENT_S)
        wait_until(lambda: _is_taken_over(log), "a take-over within the short time limit")
        broker.pause()
        try:
            with pytest.raises((IndeterminateError, WriteFailedError)) as silence:
                log.append([Write(b"key", b"1")])
        finally:
            broker.resume()
        assert log.fence is None
        wait_until(lambda: _is_taken_over(log), "another take-over")
        log.append([Write(b"key", b"2")])
        found = values(connection, topic)
        assert found[-1] == b"2"
        if isinstance(silence.value, WriteFailedError):
            assert b"1" not in found
        assert found.count(b"1") <= 1
        log.close()

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


def _is_taken_over(log: FencedLog) -> bool:
    """Whether the log is held; on a busy machine not every try is answered in time."""
    try:
        log.take_over(FenceNote("one", 1))
    except LastwordError as error:
        assert error.retriable
    return log.fence is not None
