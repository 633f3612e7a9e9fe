"""What a write path must do beyond ``WritePathContract`` if it waits for a table."""

# ruff: noqa: D102 - the names of the tests are sentences

from __future__ import annotations

from abc import abstractmethod

import pytest

from lastword.errors import NotUpToPositionError
from lastword.kafka.connection import Connection
from lastword.records import Position, Write
from lastword.testing.read_log import read_log
from lastword.testing.write_path_contract import PARTITIONS, PATIENT_S, WritePathContract
from lastword.writer.outcome import Failed, Unread
from lastword.writer.read_your_writes import WaitFor
from lastword.writer.write_path import WritePath

_LAGGING = 1


class ReadYourWritesContract(WritePathContract):
    """For paths whose ``write`` returns once the records can be read."""

    @abstractmethod
    def make_waiting_path(
        self, connection: Connection, topic: str, timeout_s: float, wait_for: WaitFor
    ) -> WritePath:
        """The same path, waiting for the table with ``wait_for``."""

    def make_path(self, connection: Connection, topic: str, timeout_s: float) -> WritePath:
        """The path of a table that applies everything at once."""
        return self.make_waiting_path(connection, topic, timeout_s, _applied_at_once)

    def test_it_waits_for_every_partition_that_it_wrote(
        self, connection: Connection, topic: str
    ) -> None:
        waited: list[Position] = []
        path = self.make_waiting_path(
            connection, topic, PATIENT_S, lambda position, _timeout_s: waited.append(position)
        )
        records = [Write(b"key-%d" % n, b"x") for n in range(20)]
        versions = [outcome.raise_or_version() for outcome in path.write(records)]
        path.write([Write(b"", b"x")])
        path.close()
        ends = {p: max(v.offset for v in versions if v.partition == p) + 1 for p, _ in versions}
        assert len(ends) == PARTITIONS
        assert waited == [Position(ends)]  # and not for what was refused

    def test_what_is_written_but_not_readable_in_time_is_unread(
        self, connection: Connection, topic: str
    ) -> None:
        def applies_nothing(position: Position, timeout_s: float) -> None:
            raise NotUpToPositionError("too slow", reached=dict.fromkeys(range(PARTITIONS), 0))

        path = self.make_waiting_path(connection, topic, PATIENT_S, applies_nothing)
        unread, refused = path.write([Write(b"key", b"1"), Write(b"", b"1")])
        path.close()
        assert isinstance(unread, Unread)
        (record,) = read_log(connection, topic)
        assert unread.version == (record.partition, record.offset)
        assert unread.error.version == unread.version
        assert not unread.error.retriable  # it would be written twice
        with pytest.raises(NotUpToPositionError, match="written as"):
            unread.raise_or_version()
        assert isinstance(refused, Failed)

    def test_only_the_records_of_a_partition_that_lags_are_unread(
        self, connection: Connection, topic: str
    ) -> None:
        def one_lags(position: Position, timeout_s: float) -> None:
            raise NotUpToPositionError("lags", reached={**position.offsets, _LAGGING: 0})

        path = self.make_waiting_path(connection, topic, PATIENT_S, one_lags)
        outcomes = path.write([Write(b"key-%d" % n, b"x") for n in range(20)])
        path.close()
        statuses = {(o.version.partition, o.status) for o in outcomes if o.version is not None}
        assert statuses == {(0, "ok"), (_LAGGING, "unread"), (2, "ok")}


def _applied_at_once(position: Position, timeout_s: float) -> None:
    """What a table that is always up to date does."""
