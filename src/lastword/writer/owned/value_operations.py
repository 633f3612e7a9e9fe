"""The named operations, which compute a key's next value from its current one.

    increment        adds a number; an absent key counts as 0
    merge            applies a JSON merge patch (RFC 7396); an absent key counts as an empty object
    append           adds an item to a list; an absent key counts as an empty list
    put_if_greater   keeps the greater of the current value and the one given

The owner of the partition runs them, so no caller has to read first, and no update is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from lastword.codecs.base import Codec
from lastword.codecs.split import Split, split_of
from lastword.codecs.structured import StructuredCodec
from lastword.codecs.typed import TypedCodec
from lastword.errors import DecodeError, InvalidRecordError
from lastword.records import Headers

_ARGUMENTS = StructuredCodec("msgpack")


class Operations(Protocol):
    """Applies operations by name, in bytes."""

    split: Split | None
    """How records are made of values; None if a value is written as it is."""

    def joined(self, value: bytes | None, headers: Headers) -> bytes | None:
        """A key's raw value as operations take it; None for an absent key."""

    def apply(self, name: str, current: bytes | None, argument: bytes) -> bytes | None:
        """The key's next raw value, or None to leave the key as it is.

        ``current`` is None for an absent key. Raises InvalidRecordError if the operation cannot be
        applied to the value.
        """


class ValueOperations:
    """The named operations on the values of one codec."""

    def __init__(self, codec: Codec[Any]) -> None:
        self._codec = codec
        self.split = split_of(codec)
        self._steps: dict[str, Callable[[bytes | None, bytes], bytes | None]] = {
            "increment": self._increment,
            "merge": self._merge,
            "append": self._append,
            "put_if_greater": self._put_if_greater,
        }

    def joined(self, value: bytes | None, headers: Headers) -> bytes | None:
        """A key's raw value as operations take it; None for an absent key."""
        return None if value is None else self._codec.joined(value, headers)

    def argument(self, name: str, value: Any) -> bytes:
        """The argument of the operation, encoded."""
        codec = self._codec if name == "put_if_greater" else _ARGUMENTS
        return codec.encode(value)

    def apply(self, name: str, current: bytes | None, argument: bytes) -> bytes | None:
        """The key's next raw value, or None to leave the key as it is."""
        step = self._steps.get(name)
        if step is None:
            raise InvalidRecordError(
                f"there is no operation {name!r}", hint=f"use one of {', '.join(self._steps)}"
            )
        return step(current, argument)

    def _increment(self, current: bytes | None, argument: bytes) -> bytes:
        number = 0 if current is None else self._value(current)
        by = _ARGUMENTS.decode(argument)
        if not _is_number(number) or not _is_number(by):
            raise _unsuitable("increment", "numbers", number if _is_number(by) else by)
        return self._codec.encode(number + by)

    def _merge(self, current: bytes | None, argument: bytes) -> bytes:
        document = {} if current is None else msgspec.to_builtins(self._value(current))
        patch = _ARGUMENTS.decode(argument)
        if not isinstance(document, dict) or not isinstance(patch, dict):
            raise _unsuitable("merge", "objects", patch if isinstance(document, dict) else document)
        return self._encoded(merge_patch(document, patch))

    def _append(self, current: bytes | None, argument: bytes) -> bytes:
        items = [] if current is None else self._value(current)
        if not isinstance(items, list):
            raise _unsuitable("append", "lists", items)
        return self._codec.encode([*items, _ARGUMENTS.decode(argument)])

    def _put_if_greater(self, current: bytes | None, argument: bytes) -> bytes | None:
        if current is None:
            return argument
        before, after = self._value(current), self._value(argument)
        try:
            return argument if after > before else None
        except TypeError as error:
            raise _unsuitable("put_if_greater", "values that can be compared", before) from error

    def _value(self, raw: bytes) -> Any:
        try:
            return self._codec.decode(raw)
        except DecodeError as error:
            raise InvalidRecordError(
                f"the current value cannot be decoded: {error.reason}",
                hint="write a valid value for the key first",
            ) from error

    def _encoded(self, document: dict[str, Any]) -> bytes:
        """Encode the document; a codec with a type accepts only that type."""
        if not isinstance(self._codec, TypedCodec):
            return self._codec.encode(document)
        wanted = self._codec.type
        try:
            return self._codec.encode(msgspec.convert(document, wanted))
        except msgspec.ValidationError as error:
            raise InvalidRecordError(
                f"the merged document is not a valid {wanted.__name__}: {error}",
                hint="the key keeps its value; correct the patch",
            ) from error


def merge_patch(document: Any, patch: Any) -> Any:
    """Apply a merge patch (RFC 7396): members are replaced, and those that are null removed.

    >>> merge_patch({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": None, "e": 4}})
    {'a': {'c': 2, 'e': 4}, 'd': 3}
    """
    if not isinstance(patch, dict):
        return patch
    merged = dict(document) if isinstance(document, dict) else {}
    for name, member in patch.items():
        if member is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), member)
    return merged


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _unsuitable(operation: str, wanted: str, value: Any) -> InvalidRecordError:
    return InvalidRecordError(
        f"{operation} works on {wanted}, not on {type(value).__name__}",
        hint="the key keeps its value; put() replaces any value",
    )
