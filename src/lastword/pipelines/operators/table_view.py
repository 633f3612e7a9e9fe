"""A table's store that keeps step with the events it is joined to."""

from __future__ import annotations

from collections.abc import Iterator

from lastword.pipelines.operators.state_view import StateView
from lastword.records import Record
from lastword.stores.base import Store


class TableView(StateView):
    """Takes updates of the table in as time passes them, in the order of the log.

    ``records`` are those from ``position`` to ``end``, which is where the log ended when the batch
    began. An update of a later time waits, and holds up those behind it: the earlier of two
    heads is always next, as in Kafka Streams.
    """

    def __init__(self, store: Store, records: Iterator[Record], *, position: int, end: int) -> None:
        super().__init__(store, every_update=False)
        self.position = position
        self._records = records
        self._end = end
        self._head = next(records, None)
        if self._head is None:
            self.position = max(position, end)

    def advance(self, time_ms: int) -> None:
        """Take in what comes before an event of this time; at the same time the table is first."""
        while self._head is not None and self._head.timestamp_ms <= time_ms:
            head = self._head
            if head.key is not None:
                self.put(head.key, head.value, head.timestamp_ms)
            self._head = next(self._records, None)
            # Behind the last record there may be transaction markers.
            self.position = self._end if self._head is None else self._head.offset

    def get(self, key: bytes) -> bytes | None:
        """The value of a key as of now."""
        (value,) = self.get_many([key])
        return value
