"""Codecs that write the id of a value's schema to a header of its record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from lastword.records import Headers

Split = Callable[[bytes, Headers], tuple[bytes, Headers]]
"""(encoded value, headers) -> the value and the headers of the record; undone by ``joined``."""


@runtime_checkable
class IdHeaderCodec(Protocol):
    """A codec that can write a part of its values to a header."""

    @property
    def split(self) -> Split | None:
        """How a record is made of an encoded value; None if the value is written as it is.

        A record that already has the header, and bytes that the codec did not write, stay as they
        are.
        """


def split_of(codec: object) -> Split | None:
    """How records are made of the values that ``codec`` encodes; None if nothing is split."""
    return codec.split if isinstance(codec, IdHeaderCodec) else None
