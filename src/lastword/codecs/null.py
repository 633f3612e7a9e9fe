"""JSON's null, where None already has another meaning.

To a pipeline's functions None means "no value": an incoming tombstone, or a key to delete. A null
in a document is a value and must not look the same.
"""

from __future__ import annotations

from typing import Any, Final


class Null:
    """The one value ``NULL``: the null of JSON or msgpack, as a value of its own. It is falsy."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "NULL"

    def __reduce__(self) -> str:
        return "NULL"  # the same object wherever it travels


NULL: Final = Null()


def encode_null(value: Any) -> None:
    """Encode NULL inside a document for msgspec; any other unknown type is an error."""
    if value is not NULL:
        raise TypeError(f"objects of type {type(value).__name__} are not supported")
