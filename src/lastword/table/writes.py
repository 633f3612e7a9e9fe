"""The writing half of a table: encodes, hands over the bytes, reports an outcome per key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final

from lastword.durations import Duration
from lastword.errors import LastwordError
from lastword.expiry import ttl_ms_of
from lastword.records import NO_HEADERS, Headers, Version, Write
from lastword.table.decoder import Decoder
from lastword.table.raw import RawTable
from lastword.writer.outcome import Outcome, write_each


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

    def put(
        self,
        key: Any,
        value: Any,
        headers: Headers,
        timestamp_ms: int | None,
        ttl: Duration | None = None,
    ) -> Version:
        """Write one value."""
        record = self._record(key, value, headers, timestamp_ms)
        return self._put(record, None if ttl is None else ttl_ms_of(ttl))

    def delete(self, key: Any, headers: Headers, timestamp_ms: int | None) -> Version:
        """Write one tombstone."""
        return self._put(self._record(key, TOMBSTONE, headers, timestamp_ms))

    def put_many(
        self, items: Mapping[Any, Any] | Iterable[tuple[Any, Any]], ttl: Duration | None = None
    ) -> list[Outcome]:
        """Write many; a record that cannot be encoded fails alone."""
        pairs = items.items() if isinstance(items, Mapping) else items
        ttl_ms = None if ttl is None else ttl_ms_of(ttl)
        prepared = [(key, self._record_or_error(key, value, ttl_ms)) for key, value in pairs]
        return write_each(self._raw.put_many, prepared)

    def _record_or_error(self, key: Any, value: Any, ttl_ms: int | None) -> Write | LastwordError:
        try:
            record = self._record(key, value, NO_HEADERS, None)
            return record if ttl_ms is None else record._replace(ttl_ms=ttl_ms)
        except LastwordError as error:
            return error

    def _record(self, key: Any, value: Any, headers: Headers, timestamp_ms: int | None) -> Write:
        raw_value = None if value is TOMBSTONE else self._value.encode(value)
        return Write(self._key.encode(key), raw_value, tuple(headers), timestamp_ms)

    def _put(self, record: Write, ttl_ms: int | None = None) -> Version:
        return self._raw.put(
            record.key,
            record.value,
            headers=record.headers,
            timestamp_ms=record.timestamp_ms,
            ttl_ms=ttl_ms,
        )
