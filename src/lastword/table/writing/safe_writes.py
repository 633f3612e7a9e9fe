"""Reads and writes of a table that owners decide, in the table's own types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from lastword.errors import ConflictError
from lastword.records import Absent, Version
from lastword.table.decoder import Decoder
from lastword.table.entry import Entry
from lastword.table.writing.conditions import TOMBSTONE
from lastword.table.writing.owned_writes import OwnedWrites

Function = Callable[[Any], Any]


class SafeWrites:
    """Encodes with the table's codecs and asks the owners. Safe to use from any thread."""

    def __init__(self, owned: OwnedWrites, decoder: Decoder) -> None:
        self._owned = owned
        self._decoder = decoder
        self._key = decoder.key
        self._value = decoder.value

    def get(self, key: Any) -> Entry | None:
        """The key's entry as its owner knows it."""
        raw = self._owned.get(self._key.encode(key))
        return None if raw is None else self._decoder.entry_of(raw)

    def operate(self, key: Any, operation: str, argument: Any) -> Entry:
        """Apply a named operation."""
        raw = self._owned.operate(self._key.encode(key), operation, argument)
        entry = self._decoder.entry_of(raw)
        if entry is None:
            raise RuntimeError("a value that an operation wrote can be read")
        return entry

    def update(self, key: Any, function: Function, default: Any) -> Entry | None:
        """Replace the value by the function's result."""

        def on_bytes(raw: bytes | None) -> bytes | None:
            after = function(default if raw is None else self._value.decode(raw))
            return None if after is TOMBSTONE else self._value.encode(after)

        with self._conflicts_decoded():
            written = self._owned.update(self._key.encode(key), on_bytes)
        return None if written is None else self._decoder.entry_of(written)

    def transact(
        self, items: Mapping[Any, Any], if_version: Mapping[Any, Version | Absent]
    ) -> dict[Any, Version]:
        """Write all or none."""
        raw_keys = {key: self._key.encode(key) for key in items}
        writes = {
            raw_keys[key]: None if value is TOMBSTONE else self._value.encode(value)
            for key, value in items.items()
        }
        expected = {self._key.encode(key): version for key, version in if_version.items()}
        with self._conflicts_decoded():
            versions = self._owned.transact(writes, expected)
        return {key: versions[raw] for key, raw in raw_keys.items()}

    @contextmanager
    def _conflicts_decoded(self) -> Iterator[None]:
        try:
            yield
        except ConflictError as error:
            if error.current is not None:
                error.current = self._decoder.entry_of(error.current)
            raise
