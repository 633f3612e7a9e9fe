"""Reads and writes that owners decide, in the table's own types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, get_args

from lastword.errors import ConfigError, ConflictError
from lastword.records import Absent, Version
from lastword.snapshots.travel.moments import Moment
from lastword.table.decoder import Decoder
from lastword.table.entry import Entry
from lastword.table.writing.owned_writes import OwnedWrites
from lastword.table.writing.writes import TOMBSTONE

Function = Callable[[Any], Any]

Consistency = Literal["local", "linearizable"]
"""Whether a read is answered by this process or by the owner of the partition."""


def check_consistency(consistency: Consistency, at: Moment | None) -> None:
    """Raise ConfigError if the consistency does not exist or cannot be used for that moment."""
    if consistency not in get_args(Consistency):
        raise ConfigError(
            f"consistency={consistency!r} does not exist",
            hint=f"use one of {', '.join(get_args(Consistency))}",
        )
    if at is not None and consistency != "local":
        raise ConfigError(
            "a read of the past is always local", hint="omit consistency, or omit at="
        )


class SafeWrites:
    """Encodes with the table's codecs and asks the owners. Safe to use from any thread."""

    def __init__(self, owned: OwnedWrites, decoder: Decoder) -> None:
        self._owned = owned
        self._decoder = decoder
        self._key = decoder.key
        self._value = decoder.value

    def get(self, key: Any) -> Entry | None:
        """The key's entry from the owner of its partition."""
        raw = self._owned.get(self._key.encode(key))
        return None if raw is None else self._decoder.entry_of(raw)

    def operate(self, key: Any, operation: str, argument: Any) -> Entry:
        """Apply a named operation."""
        raw = self._owned.operate(self._key.encode(key), operation, argument)
        entry = self._decoder.entry_of(raw)
        if entry is None:
            raise RuntimeError("the value written by an operation cannot be decoded")
        return entry

    def update(self, key: Any, function: Function, default: Any) -> Entry | None:
        """Replace the value by the result of the function."""

        def on_bytes(raw: bytes | None) -> bytes | None:
            after = function(default if raw is None else self._value.decode(raw))
            return None if after is TOMBSTONE else self._value.encode(after)

        with self._conflicts_decoded():
            written = self._owned.update(self._key.encode(key), on_bytes)
        return None if written is None else self._decoder.entry_of(written)

    def transact(
        self, items: Mapping[Any, Any], if_version: Mapping[Any, Version | Absent]
    ) -> dict[Any, Version]:
        """Write all keys atomically."""
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
