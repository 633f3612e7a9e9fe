"""What a codec is, and what a table needs beyond that of the codec of its keys.

A codec turns one Python value into bytes and back. It never sees a tombstone: a table knows a
delete by the missing value, so JSON ``null``, empty bytes and a tombstone stay three things.

The bytes also decide the order. A store sorts raw keys byte by byte, so ranges follow the bytes:
text sorts by code point, ``int64`` (Java's format) puts the negative numbers last.

A codec also says how its values look elsewhere: as text on a command line and in a URL, as JSON
in an answer, as a column of a snapshot. Nobody else asks a codec for its name to find that out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from lastword.errors import ConfigError

T = TypeVar("T")

Part = Literal["key", "value"]


@dataclass(frozen=True, slots=True)
class Context:
    """Where a codec is used: the topic, and whether for the keys or the values of its records."""

    topic: str
    part: Part


@dataclass(frozen=True, slots=True)
class Column:
    """The type that values have as a column.

    ``verbatim`` means that the stored bytes are the text of the column, in UTF-8: a whole batch
    is copied without looking at single values.
    """

    type: Literal["string", "int64"]
    verbatim: bool = False


@runtime_checkable
class Codec(Protocol[T]):
    """Bytes to one kind of value and back; safe to use from any thread.

    ``decode(encode(value))`` gives a value equal to the first. Errors are EncodeError and
    DecodeError without a location: whoever knows topic, partition and offset adds them.

    A codec that is pickled travels as a description, its class and its settings. It opens
    connections where it is used and never carries them along. ``ValueCodec`` has everything but
    ``name``, ``encode`` and ``decode``, to derive your own codec from.
    """

    @property
    def name(self) -> str:
        """What it is called in errors and ``describe``."""

    @property
    def wire(self) -> str | None:
        """The named codec that reads the same bytes; None where only this one does."""

    @property
    def column(self) -> Column | None:
        """The type of its values as a column; None where a column would say nothing."""

    def bound(self, context: Context) -> Codec[T]:
        """The codec for the records of one topic; called once, before anything is encoded."""

    def encode(self, value: T) -> bytes:
        """The bytes of ``value``; raises EncodeError."""

    def decode(self, data: bytes) -> T:
        """The value of ``data``; raises DecodeError. On the hot path of every read."""

    def parse(self, text: bytes) -> bytes:
        """The bytes of the value that a person typed, in UTF-8; raises EncodeError."""

    def text(self, data: bytes) -> str | None:
        """The text from which ``parse`` makes exactly ``data``; None where there is none."""

    def to_json(self, data: bytes) -> bytes:
        """The value of ``data`` as one JSON document; raises DecodeError."""

    def from_json(self, document: bytes) -> bytes:
        """The bytes of the value that a JSON document holds; raises EncodeError."""

    def column_values(self, data: Sequence[bytes | None]) -> Sequence[Any]:
        """A batch as values of ``column``; None for what is missing or cannot be read."""


@runtime_checkable
class KeyCodec(Codec[T], Protocol[T]):
    """A codec for keys: equal keys give equal bytes, and a prefix may have a meaning."""

    @property
    def suffix_bytes(self) -> int:
        """How many bytes at the end of a raw key have no say in its partition."""

    def bound(self, context: Context) -> KeyCodec[T]:
        """As for every codec."""

    def prefix(self, value: Any) -> bytes:
        """The bytes with which exactly the wanted raw keys begin; raises ConfigError
        where there is no such prefix, and EncodeError where it cannot be written.

        ``prefix_bounds`` turns them into the bounds of a scan.
        """

    def text_prefix(self, text: bytes) -> bytes:
        """The same for the beginning of a key's text, in UTF-8."""


def prefix_bounds(raw_prefix: bytes) -> tuple[bytes, bytes | None]:
    """The range ``start <= key < end`` of the keys that begin with ``raw_prefix``.

    ``end`` is None where no key can lie above: for no prefix at all, or one of 0xff only.

    >>> prefix_bounds(b"eu:")
    (b'eu:', b'eu;')
    """
    kept = raw_prefix.rstrip(b"\xff")
    if not kept:
        return raw_prefix, None
    return raw_prefix, kept[:-1] + bytes([kept[-1] + 1])


def no_prefix(name: str, value: object) -> ConfigError:
    """The refusal of a prefix where the first bytes of a key mean nothing to a user."""
    return ConfigError(
        f"{name} keys have no prefix to ask for {value!r}",
        hint="prefix() works on string, bytes and composite keys",
    )
