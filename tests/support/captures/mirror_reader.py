"""A reader of a mirrored table that looks at every record, as long as the table is written."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from lastword.codecs.row import RowCodec
from lastword.kafka.connection import Connection
from lastword.pipelines.operators.mirror_marks import SOURCE_HEADER

_BATCH = 10_000
_POLL_S = 0.2

Rows = dict[str, dict[str, Any]]
Position = tuple[int, int, int]


class MirrorReader:
    """Keeps the rows, and fails when a key comes back or a value goes backwards.

    Each row has a column ``n`` that is greater with every change of it, whatever its key. Numbers
    are given in the order of the commits, except to rows with an ``overtaken`` key: a row of
    another key that comes back after a delete is newer than all rows that were read before.
    """

    def __init__(
        self, connection: Connection, topic: str, overtaken: Container[str], *, ordered: bool
    ) -> None:
        self.rows = Rows()
        self.records = 0
        self.last_n = 0
        self._overtaken = overtaken
        self._ordered = ordered
        self._newest: dict[str, int] = {}
        self._positions: dict[str, Position] = {}
        settings = {"group.id": "mirror-reader", "enable.auto.commit": False}
        settings |= {"isolation.level": "read_committed", "auto.offset.reset": "error"}
        self._consumer = Consumer(connection.librdkafka() | settings)
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        self._decode = RowCodec().decode

    def close(self) -> None:
        self._consumer.close()

    def read(self) -> Rows:
        """The rows, after everything that can be read now."""
        while messages := self._consumer.consume(_BATCH, _POLL_S):
            for message in messages:
                if message.error() is None:  # a broker that is away is tried again
                    self._take(message)
        return self.rows

    def _take(self, message: Any) -> None:
        self.records += 1
        key, value = message.key().decode(), message.value()
        where = f"{key} at offset {message.offset()}"
        self._check_position(key, dict(message.headers() or ())[SOURCE_HEADER], where)
        if value is None:
            self.rows.pop(key, None)
            if key not in self._overtaken:
                self._newest[key] = self.last_n
            return
        row = self._decode(value)
        newest = self._newest.get(key, 0)
        if key in self.rows:
            assert row["n"] >= newest, f"{where} goes back from {newest} to {row['n']}"
        else:
            assert row["n"] > newest, f"{where} comes back with {row['n']} after {newest}"
        self.rows[key] = row
        self._newest[key] = row["n"]
        self.last_n = max(self.last_n, row["n"])

    def _check_position(self, key: str, header: bytes, where: str) -> None:
        generation, position, _ = header.decode().split(":", 2)
        commit, change = position.split("/")
        found = (int(generation), int(commit), int(change))
        of = "" if self._ordered else key  # in order, no record is older than the one before it
        assert found >= self._positions.get(of, found), f"{where} is older than what was there"
        self._positions[of] = found
