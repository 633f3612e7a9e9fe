"""Reads and writes of a table that owners decide, in the table's own types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from lastword.errors import ConflictError
from lastword.records import Absent, Version
from lastword.table.decoder import Decoder
from lastword.table.entry import Entry, RawEntry
from lastword.table.writing.conditions import TOMBSTONE
from lastword.table.writing.owned_writes import OwnedWrites
from lastword.writer.owned.decide import Result
from lastword.writer.owned.requests import Applied, Operate, Transact

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
        return self.decoded(self._owned.get(self._key.encode(key)))

    def operate(self, key: Any, operation: str, argument: Any) -> Entry:
        """Apply a named operation."""
        request = self.operation(key, operation, argument)
        return self.operated(request, self._owned.ask(request))

    def update(self, key: Any, function: Function, default: Any) -> Entry | None:
        """Replace the value by the function's result."""

        def on_bytes(raw: bytes | None) -> bytes | None:
            after = function(default if raw is None else self._value.decode(raw))
            return self.raw_value(after)

        with conflicts_decoded(self._decoder):
            return self.decoded(self._owned.update(self._key.encode(key), on_bytes))

    def transact(
        self, items: Mapping[Any, Any], if_version: Mapping[Any, Version | Absent]
    ) -> dict[Any, Version]:
        """Write all or none."""
        return self.transacted(items, self._owned.ask(self.transaction(items, if_version)))

    # -- requests, and what their answers mean -----------------------------------------------

    def operation(self, key: Any, operation: str, argument: Any) -> Operate:
        """The request of a named operation."""
        return self._owned.request(self._key.encode(key), operation, argument)

    def operated(self, request: Operate, answer: Result) -> Entry:
        """The entry that the operation wrote or left; raises what went wrong."""
        row = self._owned.written(answer)
        entry = self.decoded(self._owned.entry(request.key, row))
        if entry is None:
            raise RuntimeError(f"{request.operation} leaves a value that can be read")
        return entry

    def transaction(
        self, items: Mapping[Any, Any], if_version: Mapping[Any, Version | Absent]
    ) -> Transact:
        """The request that writes all or none."""
        encode = self._key.encode
        return self._owned.transaction(
            {encode(key): self.raw_value(value) for key, value in items.items()},
            {encode(key): version for key, version in if_version.items()},
        )

    def transacted(self, items: Mapping[Any, Any], answer: Result) -> dict[Any, Version]:
        """The versions that were written; raises what went wrong."""
        with conflicts_decoded(self._decoder):
            self._owned.written(answer)
        if not isinstance(answer, Applied):
            raise RuntimeError(f"a transaction cannot be answered with {answer!r}")
        return dict(zip(items, answer.versions, strict=True))

    def raw_value(self, value: Any) -> bytes | None:
        """The bytes of a value; None for TOMBSTONE."""
        return None if value is TOMBSTONE else self._value.encode(value)

    def decoded(self, raw: RawEntry | None) -> Entry | None:
        """The entry in the table's own types."""
        return None if raw is None else self._decoder.entry_of(raw)


@contextmanager
def conflicts_decoded(decoder: Decoder) -> Iterator[None]:
    """Have conflicts raised with their current entry in the table's own types."""
    try:
        yield
    except ConflictError as error:
        if error.current is not None:
            error.current = decoder.entry_of(error.current)
        raise
