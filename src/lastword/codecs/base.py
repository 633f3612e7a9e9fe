"""The codec protocol, and what a table needs in addition from the codec of its keys.

A codec turns one Python value into bytes and back. It never sees a tombstone: a delete is a record
without a value, so JSON ``null``, empty bytes and a tombstone stay three different things.

The bytes also decide the order. A store sorts raw keys byte by byte, so ranges follow the bytes:
text sorts by code point, and ``int64`` (Java's format) puts the negative numbers last.

A codec also says how its values look elsewhere: as text on a command line and in a URL, as JSON
in a response, as a column of a snapshot. No other code decides that by the codec's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from lastword.errors import ConfigError
from lastword.records import Headers

T = TypeVar("T")

Part = Literal["key", "value"]


@dataclass(frozen=True, slots=True)
class Context:
    """Where a codec is used: the topic, and whether for the keys or the values of its records."""

    topic: str
    part: Part


@dataclass(frozen=True, slots=True)
class Column:
    """The column type of the values.

    ``verbatim`` means that the stored bytes are the column's text in UTF-8: a whole batch is copied
    without looking at single values.
    """

    type: Literal["string", "int64"]
    verbatim: bool = False


@runtime_checkable
class Codec(Protocol[T]):
    """Bytes to one kind of value and back; safe to use from any thread.

    ``decode(encode(value))`` equals ``value``. Errors are EncodeError and DecodeError without a
    location: the caller, who knows topic, partition and offset, adds it.

    A pickled codec is a description: its class and its settings. It opens connections where it is
    used and never pickles them. Derive your own codec from ``ValueCodec``, which has everything but
    ``name``, ``encode`` and ``decode``.
    """

    @property
    def name(self) -> str:
        """The codec's name in errors and in ``describe``."""

    @property
    def wire(self) -> str | None:
        """The name of a built-in codec that reads the same bytes; None if there is none."""

    @property
    def column(self) -> Column | None:
        """The column type of its values; None if they make no useful column."""

    @property
    def id_header(self) -> str | None:
        """The header whose value, if a record has it, belongs before the data; usually None."""

    def bound(self, context: Context) -> Codec[T]:
        """The codec for the records of one topic; called once, before anything is encoded."""

    def encode(self, value: T) -> bytes:
        """The bytes of ``value``; raises EncodeError."""

    def decode(self, data: bytes) -> T:
        """The value of ``data``; raises DecodeError. Every read calls it, so it must be fast."""

    def joined(self, data: bytes, headers: Headers) -> bytes:
        """The bytes that ``decode`` takes, for ``data`` of a record with these headers."""

    def parse(self, text: bytes) -> bytes:
        """The bytes of a value typed by a person, given in UTF-8; raises EncodeError."""

    def text(self, data: bytes) -> str | None:
        """The text that ``parse`` turns into exactly ``data``; None if there is none."""

    def to_json(self, data: bytes) -> bytes:
        """The value of ``data`` as one JSON document; raises DecodeError."""

    def from_json(self, document: bytes) -> bytes:
        """The bytes of the value that a JSON document holds; raises EncodeError."""

    def column_values(self, data: Sequence[bytes | None]) -> Sequence[Any]:
        """A batch as values of ``column``; None where a value is missing or cannot be decoded."""


@runtime_checkable
class KeyCodec(Codec[T], Protocol[T]):
    """A codec for keys: equal keys have equal bytes, and a prefix may have a meaning."""

    @property
    def suffix_bytes(self) -> int:
        """How many bytes at the end of a raw key do not count for its partition."""

    def bound(self, context: Context) -> KeyCodec[T]:
        """As for every codec."""

    def prefix(self, value: Any) -> bytes:
        """The common first bytes of exactly the matching raw keys. Raises ConfigError
        if the codec has no such prefix, and EncodeError if the value cannot be encoded.

        ``prefix_bounds`` turns the prefix into the bounds of a scan.
        """

    def text_prefix(self, text: bytes) -> bytes:
        """The same for the beginning of a key's text, given in UTF-8."""


def prefix_bounds(raw_prefix: bytes) -> tuple[bytes, bytes | None]:
    """The range ``start <= key < end`` of the keys that begin with ``raw_prefix``.

    ``end`` is None if no key can lie above: for an empty prefix, or one of 0xff bytes only.

    >>> prefix_bounds(b"eu:")
    (b'eu:', b'eu;')
    """
    kept = raw_prefix.rstrip(b"\xff")
    if not kept:
        return raw_prefix, None
    return raw_prefix, kept[:-1] + bytes([kept[-1] + 1])


def key_bounds(
    codec: KeyCodec[Any], start: Any, end: Any, prefix: Any
) -> tuple[bytes | None, bytes | None]:
    """The raw keys between which a scan walks: a range, or what begins with a prefix."""
    if prefix is not None and (start is not None or end is not None):
        raise ConfigError("prefix= excludes a start and an end", hint="give one or the other")
    if prefix is not None:
        return prefix_bounds(codec.prefix(prefix))
    first = None if start is None else codec.encode(start)
    last = None if end is None else codec.encode(end)
    if first is not None and last is not None and first > last:
        raise ConfigError(
            f"the range from {start!r} to {end!r} runs backwards in the order of its keys",
            hint="keys are ordered by their bytes; reverse=True walks a range from its end",
        )
    return first, last


def no_prefix(name: str, value: object) -> ConfigError:
    """The error for a prefix on keys whose first bytes mean nothing to a user."""
    return ConfigError(
        f"{name} keys cannot be searched by the prefix {value!r}",
        hint="prefix() works on string, bytes and composite keys",
    )
