"""The write path contract for the owned path: a real log and table, and a cluster of one member."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.clock import SYSTEM_CLOCK
from lastword.codecs.resolve import codecs_for
from lastword.errors import ConflictError
from lastword.kafka.connection import Connection
from lastword.kafka.groups.names import owner_transactional_id
from lastword.kafka.write.fenced import FencedLog, open_fenced_log
from lastword.kafka.write.fenced.transactional_log import TransactionalLog
from lastword.records import ABSENT, Position, Version, Write
from lastword.table.table import Table
from lastword.testing.write_path_contract import (
    IMPATIENT_S,
    MESSAGE_BYTES_MAX,
    WritePathContract,
    write_until_ok,
    written,
)
from lastword.writer.outcome import Failed, Indeterminate
from lastword.writer.owned.conflicts import Conflict
from lastword.writer.owned.owned_path import OwnedPath, OwnedTopic
from lastword.writer.owned.value_operations import ValueOperations
from lastword.writer.write_path import WritePath
from tests.support.shared_tables.only_member import OnlyMember

pytestmark = pytest.mark.broker


class TableRows:
    """One partition of a table that follows the topic, as an owner reads it."""

    def __init__(self, table: Table, partition: int) -> None:
        self._table = table
        self._partition = partition

    def row(self, key: bytes) -> bytes | None:
        return self._table.raw.read(key, lambda _partition, _key, row: row).value

    def rows(self) -> Iterable[tuple[bytes, bytes]]:
        partitions = (self._partition,)
        return self._table.raw.walk(
            (None, None), lambda _partition, key, row: (key, row), partitions=partitions
        )

    def position(self) -> int:
        return self._table.raw.position((self._partition,)).offsets[self._partition]

    def wait_for(self, offset: int, timeout_s: float) -> None:
        wanted = Position({self._partition: offset})
        self._table.raw.count(partitions=(), at_least=wanted, timeout_s=timeout_s)


class TestOwnedPath(WritePathContract):
    @pytest.fixture(autouse=True)
    def closing(self) -> Iterator[None]:
        with ExitStack() as self.opened:
            yield

    def make_log(
        self, connection: Connection, topic: str, partition: int, name: str, timeout_s: float
    ) -> FencedLog:
        """The log that a table would use."""
        return open_fenced_log(
            connection,
            topic,
            partition,
            name,
            batch_bytes=MESSAGE_BYTES_MAX,
            timeout_s=timeout_s,
        )

    def make_path(self, connection: Connection, topic: str, timeout_s: float) -> OwnedPath:
        table = self.opened.enter_context(
            Table(topic, connection=connection, key="bytes", value="bytes")
        )

        def open_log(partition: int) -> FencedLog:
            name = owner_transactional_id("tests", topic, partition)
            return self.make_log(connection, topic, partition, name, timeout_s)

        owned = OwnedTopic(
            topic=topic,
            keyspace=table.raw.keyspace,
            open_log=open_log,
            local=lambda partition: TableRows(table, partition),
            lags=dict,
            log_start=lambda partition: table.raw.readable_log(partition)[0],
            source=table.raw.log_source,
            operations=ValueOperations(codecs_for(topic, "bytes", "bytes")[1]),
            keeps_leases=False,
            batch_bytes=MESSAGE_BYTES_MAX,
            clock=SYSTEM_CLOCK,
            timeout_s=timeout_s,
        )
        path = OwnedPath(owned, OnlyMember())
        path.open()
        self.opened.callback(path.close)
        return path

    def test_what_a_frozen_broker_does_not_answer_is_indeterminate(
        self, broker: EmbeddedBroker, connection: Connection, topic: str
    ) -> None:
        """An owner may be sure that nothing was written; then the log must not have it."""
        path = self.make_path(connection, topic, IMPATIENT_S)
        write_until_ok(path, Write(b"key", b"before"))
        broker.pause()
        try:
            unanswered, refused = path.write([Write(b"key", b"1"), Write(b"", b"1")])
        finally:
            broker.resume()
        assert isinstance(refused, Failed)
        after = write_until_ok(path, Write(b"key", b"after"))
        path.close()
        log = written(connection, topic)
        assert after in {Version(record.partition, record.offset) for record in log}
        if not isinstance(unanswered, Indeterminate):
            assert isinstance(unanswered, Failed)
            assert b"1" not in [record.value for record in log]

    def test_a_condition_is_checked_in_the_order_of_the_records(
        self, connection: Connection, topic: str, path: WritePath
    ) -> None:
        (first,) = path.write([Write(b"key", b"1", expected=ABSENT)])
        won, lost = path.write(
            [Write(b"key", value, expected=first.version) for value in (b"2", b"3")]
        )
        assert isinstance(lost, Conflict)
        assert lost.version is None
        with pytest.raises(ConflictError):
            lost.raise_or_version()
        assert [record.value for record in written(connection, topic)] == [b"1", b"2"]
        assert isinstance(won.version, Version)


class TestOwnedPathWithTransactions(TestOwnedPath):
    def make_log(
        self, connection: Connection, topic: str, partition: int, name: str, timeout_s: float
    ) -> FencedLog:
        """The log of a cluster that does not keep fences for plain batches."""
        return TransactionalLog(
            connection,
            topic,
            partition,
            name,
            batch_bytes=MESSAGE_BYTES_MAX,
            timeout_s=timeout_s,
        )
