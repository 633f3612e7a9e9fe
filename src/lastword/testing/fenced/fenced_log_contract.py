"""What every fenced log must do, as tests: subclass, say how to make one, and run pytest.

    class TestMyLog(FencedLogContract):
        def make_log(self, connection, topic, transactional_id, timeout_s) -> FencedLog:
            return MyLog(connection, topic, PARTITION, transactional_id, ...)

The tests run on the plugin's ``broker``.
"""

# ruff: noqa: D102 - the names of the tests are sentences

from __future__ import annotations

from random import Random

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.clock import SYSTEM_CLOCK
from lastword.errors import (
    FencedError,
    IndeterminateError,
    InvalidRecordError,
    LastwordError,
    WriteFailedError,
)
from lastword.kafka.connection import Connection
from lastword.kafka.groups.names import owner_transactional_id
from lastword.kafka.write.fenced import FencedLog, FenceNote
from lastword.kafka.write.producer import RecordProducer
from lastword.records import ABSENT, FENCE_KEY, REQUEST_HEADER, Header, Version, Write
from lastword.testing.fenced.fence_contract import (
    MESSAGE_BYTES_MAX,
    PARTITION,
    PATIENT_S,
    FenceContract,
    MakeLog,
    rows,
    taken_over,
    values,
    written,
)
from lastword.testing.waiting import wait_until

IMPATIENT_S = 2.0  # for answers that will not come
_TOO_LARGE = Random(1).randbytes(MESSAGE_BYTES_MAX)  # noqa: S311 - of no use to compression


class FencedLogContract(FenceContract):
    """The contract of a fenced log of partition 1 of a topic."""

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


def _is_taken_over(log: FencedLog) -> bool:
    """Whether the log is held; on a busy machine not every try is answered in time."""
    try:
        log.take_over(FenceNote("one", 1))
    except LastwordError as error:
        assert error.retriable
    return log.fence is not None
