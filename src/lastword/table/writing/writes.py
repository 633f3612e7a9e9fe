"""The writing half of a table: encodes, hands over the bytes, reports an outcome per key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lastword.durations import Duration
from lastword.errors import ConflictError, LastwordError
from lastword.expiry import ttl_ms_of
from lastword.records import Headers, Version, Write
from lastword.table.decoder import Decoder
from lastword.table.entry import Entry, RawEntry
from lastword.table.raw import RawTable
from lastword.table.writing.conditions import TOMBSTONE, Conditions, IfVersion
from lastword.writer.outcome import Outcome, write_each


class Writes:
    """Encodes with the table's codecs and writes; safe to use from any thread."""

    def __init__(self, raw: RawTable, decoder: Decoder) -> None:
        self._raw = raw
        self._decoder = decoder
        self._key = decoder.key
        self._value = decoder.value

    def put(
        self,
        key: Any,
        value: Any,
        headers: Headers,
        timestamp_ms: int | None,
        *,
        ttl: Duration | None = None,
        if_version: IfVersion = None,
    ) -> Version:
        """Write one value, or a tombstone for TOMBSTONE."""
        ttl_ms = None if ttl is None else ttl_ms_of(ttl)
        raw_value = None if value is TOMBSTONE else self._value.encode(value)
        try:
            return self._raw.put(
                self._key.encode(key),
                raw_value,
                headers=tuple(headers),
                timestamp_ms=timestamp_ms,
                ttl_ms=ttl_ms,
                if_version=if_version,
            )
        except ConflictError as error:
            error.current = self.decoded(error.current)
            raise

    def put_many(
        self,
        items: Mapping[Any, Any] | Iterable[tuple[Any, Any]],
        *,
        ttl: Duration | None = None,
        if_version: Conditions = None,
    ) -> list[Outcome]:
        """Write many; a record that cannot be encoded fails alone."""
        pairs = items.items() if isinstance(items, Mapping) else items
        ttl_ms = None if ttl is None else ttl_ms_of(ttl)
        prepared = [
            (key, self._record_or_error(key, value, ttl_ms, if_version)) for key, value in pairs
        ]
        outcomes = write_each(self._raw.put_many, prepared)
        for outcome in outcomes:
            if isinstance(error := outcome.error, ConflictError):
                error.current = self.decoded(error.current)
        return outcomes

    def decoded(self, entry: RawEntry | None) -> Entry | None:
        """The entry in the table's own types; None if its bytes cannot be read."""
        return None if entry is None else self._decoder.entry_of(entry)

    def _record_or_error(
        self, key: Any, value: Any, ttl_ms: int | None, if_version: Conditions
    ) -> Write | LastwordError:
        expected = if_version.get(key) if isinstance(if_version, Mapping) else if_version
        try:
            raw_value = None if value is TOMBSTONE else self._value.encode(value)
            return Write(self._key.encode(key), raw_value, expected=expected, ttl_ms=ttl_ms)
        except LastwordError as error:
            return error
