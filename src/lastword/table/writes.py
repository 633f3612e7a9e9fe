"""The writing half of a table: encodes, hands over the bytes, reports an outcome per key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final

from lastword.errors import LastwordError
from lastword.kafka.write.producer import Outgoing
from lastword.records import NO_HEADERS, Headers, Version
from lastword.table.decoder import Decoder
from lastword.table.raw import RawTable
from lastword.writer.outcome import Outcome


class Tombstone(Enum):
    """The type of TOMBSTONE, which stands for a delete among the values of ``put_many``."""

    TOMBSTONE = "TOMBSTONE"


TOMBSTONE: Final = Tombstone.TOMBSTONE


class Writes:
    """Encodes with the table's codecs and writes; safe to use from any thread."""

    def __init__(self, raw: RawTable, decoder: Decoder) -> None:
        self._raw = raw
        self._key = decoder.key
        self._value = decoder.value

    def put(self, key: Any, value: Any, headers: Headers, timestamp_ms: int | None) -> Version:
        """Write one value."""
        return self._put(self._record(key, value, headers, timestamp_ms))

    def delete(self, key: Any, headers: Headers, timestamp_ms: int | None) -> Version:
        """Write one tombstone."""
        return self._put(self._record(key, TOMBSTONE, headers, timestamp_ms))

    def put_many(self, items: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> list[Outcome]:
        """Write many; a record that cannot be encoded fails alone."""
        pairs = list(items.items() if isinstance(items, Mapping) else items)
        outcomes: list[Outcome | None] = []
        records: list[Outgoing] = []
        for key, value in pairs:
            try:
                records.append(self._record(key, value, NO_HEADERS, None))
                outcomes.append(None)
            except LastwordError as error:
                outcomes.append(Outcome(key, error=error))
        deliveries = iter(self._raw.put_many(records))
        settled: list[Outcome] = []
        for (key, _), outcome in zip(pairs, outcomes, strict=True):
            if outcome is None:
                delivery = next(deliveries)
                outcome = Outcome(key, delivery.version, delivery.error)  # noqa: PLW2901
            settled.append(outcome)
        return settled

    def _record(self, key: Any, value: Any, headers: Headers, timestamp_ms: int | None) -> Outgoing:
        raw_value = None if value is TOMBSTONE else self._value.encode(value)
        return Outgoing(self._key.encode(key), raw_value, tuple(headers), timestamp_ms)

    def _put(self, record: Outgoing) -> Version:
        return self._raw.put(
            record.key, record.value, headers=record.headers, timestamp_ms=record.timestamp_ms
        )
