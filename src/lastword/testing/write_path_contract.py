"""What every write path must do, as tests: subclass, say how to make one, and run pytest.

    class TestMyPath(WritePathContract):
        def make_path(self, connection: Connection, topic: str, timeout_s: float) -> WritePath:
            return MyPath(connection, topic, timeout_s)

A path that waits until a table has applied the records takes ``ReadYourWritesContract``. The
tests run on the plugin's ``broker``.
"""

# ruff: noqa: D102 - the names of the tests are sentences

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import count
from random import Random

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.clock import SYSTEM_CLOCK
from lastword.errors import (
    IndeterminateError,
    InvalidRecordError,
    LastwordError,
    TopicNotFoundError,
    WriteFailedError,
)
from lastword.expiry import expires_at_in, names_expiry
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.keyspace import Keyspace
from lastword.records import ABSENT, FENCE_KEY, Absent, Header, Record, Version, Write
from lastword.testing.read_log import read_log
from lastword.testing.waiting import wait_until
from lastword.topics.creation import create_topic
from lastword.writer.outcome import Acknowledged, Failed, Indeterminate, Outcome
from lastword.writer.write_path import WritePath, write_one

PARTITIONS = 3
MESSAGE_BYTES_MAX = 100_000
PATIENT_S = 60.0
IMPATIENT_S = 1.0  # for answers that will not come
_UNKNOWN_TOPIC_S = 6.0
_SILENCE_S = 0.5
_TOO_LARGE = Random(1).randbytes(MESSAGE_BYTES_MAX)  # noqa: S311 - of no use to compression


class WritePathContract(ABC):
    """The part of the contract that holds for all paths."""

    @abstractmethod
    def make_path(self, connection: Connection, topic: str, timeout_s: float) -> WritePath:
        """A path into ``topic`` that waits ``timeout_s`` for the answer of the cluster."""

    def create_topic(self, admin: Admin, name: str, settings: dict[str, str]) -> None:
        """A topic that the path takes; a compacted one unless overridden."""
        create_topic(admin, name, partitions=PARTITIONS, settings=settings)

    @pytest.fixture
    def connection(self, broker: EmbeddedBroker) -> Connection:
        """How to reach the broker."""
        return Connection(bootstrap_servers=broker.bootstrap_servers)

    @pytest.fixture
    def topic(self, connection: Connection, topic_name: str) -> str:
        """A topic of this test alone."""
        with Admin(connection) as admin:
            self.create_topic(admin, topic_name, {"max.message.bytes": str(MESSAGE_BYTES_MAX)})
        return topic_name

    @pytest.fixture
    def path(self, connection: Connection, topic: str) -> Iterator[WritePath]:
        """A path into that topic."""
        path = self.make_path(connection, topic, PATIENT_S)
        yield path
        path.close()

    def test_it_implements_the_protocol(self, path: WritePath) -> None:
        assert isinstance(path, WritePath)

    def test_nothing_to_write_has_no_outcome(self, path: WritePath) -> None:
        assert path.write([]) == []

    def test_each_record_has_an_outcome_that_says_where_it_is(
        self, connection: Connection, topic: str, path: WritePath
    ) -> None:
        records = [Write(b"key-%d" % (n % 7), b"%d" % n) for n in range(300)]
        outcomes = path.write(records)
        assert [outcome.status for outcome in outcomes] == ["ok"] * len(records)
        assert [outcome.key for outcome in outcomes] == [record.key for record in records]
        log = {Version(r.partition, r.offset): r for r in written(connection, topic)}
        assert len(log) == len(records)
        for record, outcome in zip(records, outcomes, strict=True):
            found = log[outcome.raise_or_version()]
            assert (found.key, found.value) == (record.key, record.value)
            assert found.partition == Keyspace(PARTITIONS).partition_of(record.key)

    def test_the_records_of_a_key_keep_their_order(
        self, connection: Connection, topic: str, path: WritePath
    ) -> None:
        for first in range(0, 1000, 250):
            path.write([Write(b"%d" % (n % 5), b"%d" % n) for n in range(first, first + 250)])
        log = written(connection, topic)
        for key in range(5):
            values = [int(r.value or b"") for r in log if r.key == b"%d" % key]
            assert values == list(range(key, 1000, 5))

    def test_a_tombstone_an_empty_value_and_a_null_in_json_are_three_things(
        self, connection: Connection, topic: str, path: WritePath
    ) -> None:
        values = [b"1", None, b"", b"null"]
        path.write([Write(b"key", value) for value in values])
        assert [record.value for record in written(connection, topic)] == values

    def test_a_time_to_live_becomes_the_moment_at_which_it_ends(
        self, connection: Connection, topic: str, path: WritePath
    ) -> None:
        before_ms = SYSTEM_CLOCK.now_ms()
        path.write(
            [
                Write(b"key", b"1", (("trace", b"1"),), timestamp_ms=1, ttl_ms=60_000),
                Write(b"key", None, ttl_ms=60_000),
                Write(b"key", b"2"),
            ]
        )
        after_ms = SYSTEM_CLOCK.now_ms()
        put, tombstone, lasting = written(connection, topic)
        assert put.headers[0] == ("trace", b"1")
        # Counted from now, not from the record's own time.
        assert before_ms + 60_000 <= (expires_at_in(put.headers) or 0) <= after_ms + 60_000
        assert not names_expiry(tombstone.headers)
        assert not names_expiry(lasting.headers)

    def test_headers_and_timestamps_arrive_as_given(
        self, connection: Connection, topic: str, path: WritePath
    ) -> None:
        headers: tuple[Header, ...] = (("trace", b"42"), ("trace", b""), ("empty", None))
        before_ms = SYSTEM_CLOCK.now_ms()
        path.write(
            [Write(b"key", b"1", headers, 1), Write(b"key", None, headers, 7), Write(b"key", b"2")]
        )
        after_ms = SYSTEM_CLOCK.now_ms()
        put, tombstone, plain = written(connection, topic)
        assert (put.timestamp_ms, tombstone.timestamp_ms) == (1, 7)
        assert before_ms <= plain.timestamp_ms <= after_ms  # the time of writing, not 1970
        # A path may add marks of its own, after those of the user.
        assert put.headers[: len(headers)] == tombstone.headers[: len(headers)] == headers

    @pytest.mark.parametrize(
        "bad",
        [
            Write(b"", b"an empty key"),
            Write(b"bad", b"the first millisecond of 1970", timestamp_ms=0),
            Write(b"bad", b"not headers", (("name", "text"),)),  # type: ignore[arg-type]
            Write(b"bad", _TOO_LARGE),
        ],
        ids=["key", "timestamp", "headers", "size"],
    )
    def test_a_record_that_is_refused_fails_alone(
        self, connection: Connection, topic: str, path: WritePath, bad: Write
    ) -> None:
        records = [Write(b"good", b"1"), bad, Write(b"good", b"2"), bad]
        outcomes = path.write(records)
        assert [outcome.status for outcome in outcomes] == ["ok", "failed", "ok", "failed"]
        refused = outcomes[1]
        assert isinstance(refused, Failed)
        assert (refused.key, refused.version) == (bad.key, None)
        assert isinstance(refused.error, InvalidRecordError)
        assert refused.error.hint
        with pytest.raises(InvalidRecordError):
            refused.raise_or_version()
        assert [record.value for record in written(connection, topic)] == [b"1", b"2"]

    def test_more_than_the_topic_takes_at_once_is_written_in_parts(
        self, connection: Connection, topic: str, path: WritePath
    ) -> None:
        part = len(_TOO_LARGE) // 100
        records = [Write(b"key", _TOO_LARGE[n * part :][:part]) for n in range(100)] * 5
        records.insert(250, Write(b"key", _TOO_LARGE))
        outcomes = path.write(records)
        assert [n for n, outcome in enumerate(outcomes) if outcome.status != "ok"] == [250]
        del records[250]
        assert [r.value for r in written(connection, topic)] == [r.value for r in records]

    def test_a_topic_that_does_not_exist_is_named_and_not_created(
        self, connection: Connection, topic_name: str
    ) -> None:
        with pytest.raises(LastwordError, match=topic_name) as refused:
            path = self.make_path(connection, topic_name, _UNKNOWN_TOPIC_S)
            try:
                write_one(path, Write(b"key", b"1"))
            finally:
                path.close()
        assert not isinstance(refused.value, IndeterminateError)
        with Admin(connection) as admin, pytest.raises(TopicNotFoundError):
            admin.describe(topic_name)

    def test_writes_of_many_threads_all_arrive(
        self, connection: Connection, topic: str, path: WritePath
    ) -> None:
        def write(thread: int) -> None:
            for n in range(25):
                write_one(path, Write(b"%d-%d" % (thread, n), b"x"))

        _run_together([threading.Thread(target=write, args=(n,)) for n in range(4)])
        assert len({record.key for record in written(connection, topic)}) == 100

    def test_after_a_close_every_record_fails(
        self, connection: Connection, topic: str, path: WritePath
    ) -> None:
        write_one(path, Write(b"key", b"1"))
        path.close()
        path.close()
        outcomes = path.write([Write(b"key", b"2"), Write(b"key", None)])
        assert [outcome.status for outcome in outcomes] == ["failed", "failed"]
        assert isinstance(outcomes[0].error, WriteFailedError)
        assert [record.value for record in written(connection, topic)] == [b"1"]

    def test_a_path_that_was_never_used_can_be_closed(
        self, connection: Connection, topic: str
    ) -> None:
        path = self.make_path(connection, topic, PATIENT_S)
        path.close()
        assert [outcome.status for outcome in path.write([Write(b"key", b"1")])] == ["failed"]

    def test_a_close_leaves_no_write_in_doubt(
        self, broker: EmbeddedBroker, connection: Connection, topic: str, path: WritePath
    ) -> None:
        outcomes: list[Outcome] = []
        writing = threading.Barrier(4)

        def write_until_closed(thread: int) -> None:
            for n in count():
                (outcome,) = path.write([Write(b"%d-%d" % (thread, n), b"x")])
                outcomes.append(outcome)
                if n == 0:
                    writing.wait(PATIENT_S)
                if outcome.status != "ok":
                    return

        def close_while_nothing_is_answered() -> None:
            writing.wait(PATIENT_S)
            broker.pause()
            closing = threading.Thread(target=path.close)
            closing.start()
            closing.join(_SILENCE_S)
            broker.resume()
            closing.join(PATIENT_S)

        threads = [threading.Thread(target=write_until_closed, args=(n,)) for n in range(3)]
        _run_together([*threads, threading.Thread(target=close_while_nothing_is_answered)])
        ended = {outcome.status for outcome in outcomes} - {"ok"}
        # A path that asks owners may have given its partitions away already.
        assert ended <= {"failed", "not-owner"}
        assert ended
        acknowledged = {outcome.key for outcome in outcomes if outcome.status == "ok"}
        assert {record.key for record in written(connection, topic)} == acknowledged

    def test_what_a_frozen_broker_does_not_answer_is_indeterminate(
        self, broker: EmbeddedBroker, connection: Connection, topic: str
    ) -> None:
        path = self.make_path(connection, topic, IMPATIENT_S)
        write_until_ok(path, Write(b"before", b"1"))
        broker.pause()
        try:
            unanswered, refused = path.write([Write(b"key", b"1"), Write(b"", b"1")])
        finally:
            broker.resume()
        assert isinstance(unanswered, Indeterminate)
        assert unanswered.version is None
        assert not unanswered.error.retriable  # it would be written twice
        assert unanswered.error.hint
        with pytest.raises(IndeterminateError, match="may or may not have been written"):
            unanswered.raise_or_version()
        assert isinstance(refused, Failed)
        after = write_until_ok(path, Write(b"after", b"1"))
        path.close()
        assert after in {Version(r.partition, r.offset) for r in written(connection, topic)}


class PlainWritePathContract(WritePathContract):
    """For paths that append regardless of a key's current version."""

    @pytest.mark.parametrize("expected", [Version(0, 0), ABSENT])
    def test_a_condition_that_cannot_be_checked_is_refused(
        self, connection: Connection, topic: str, path: WritePath, expected: Version | Absent
    ) -> None:
        bad = Write(b"bad", b"if it is that version", expected=expected)
        ok, refused = path.write([Write(b"good", b"1"), bad])
        assert ok.status == "ok"
        assert isinstance(refused.error, InvalidRecordError)
        assert refused.error.hint
        assert [record.value for record in written(connection, topic)] == [b"1"]


def written(connection: Connection, topic: str) -> list[Record]:
    """The records of the log that users wrote."""
    return [record for record in read_log(connection, topic) if record.key != FENCE_KEY]


def write_until_ok(path: WritePath, record: Write) -> Version:
    """Where the record is; on a busy machine not every write is answered at once."""

    def write() -> Outcome | None:
        (outcome,) = path.write([record])
        return outcome if isinstance(outcome, Acknowledged) else None

    written = wait_until(write, "a write is acknowledged")
    assert written is not None
    return written.raise_or_version()


def _run_together(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENT_S)
    assert not any(thread.is_alive() for thread in threads)
