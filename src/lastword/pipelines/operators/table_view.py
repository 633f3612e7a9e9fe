"""A table's store, advanced to the time of each event that is joined with it."""

from __future__ import annotations

from collections.abc import Iterator

from lastword.pipelines.operators.state_view import StateView
from lastword.records import Record
from lastword.stores.base import Store


class TableView(StateView):
    """Applies updates of the table up to the time of each event, in the order of the log.

    ``records`` are those from ``position`` to ``end``, the end of the log when the batch began. An
    update with a later timestamp waits, and holds up those behind it: the earlier of the two heads
    is always next, as in Kafka Streams.
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
        """Apply updates before an event of this time; at equal times the table goes first."""
        while self._head is not None and self._head.timestamp_ms <= time_ms:
            head = self._head
            if head.key is not None:
                self.put(head.key, head.value, head.timestamp_ms, head.headers)
            self._head = next(self._records, None)
            # Transaction markers may follow the last record.
            self.position = self._end if self._head is None else self._head.offset

    def get(self, key: bytes) -> bytes | None:
        """The current value of a key."""
        (value,) = self.get_many([key])
        return value

    def get_joined(self, key: bytes, id_header: str | None) -> bytes | None:
        """The same with the value of that header in front: the id of the value's schema."""
        value = self.get(key)
        if value is None or id_header is None:
            return value
        return (dict(self.headers_of(key) or ()).get(id_header) or b"") + value
