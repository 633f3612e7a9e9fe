"""What a codec is, and what a table needs beyond that of the codec of its keys.

A codec turns one Python value into bytes and back. It never sees a tombstone: a table knows a
delete by the missing value, so JSON ``null``, empty bytes and a tombstone stay three things.

The bytes also decide the order. A store sorts raw keys byte by byte, so ranges follow the bytes:
text sorts by code point, ``int64`` (Java's format) puts the negative numbers last.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

from lastword.errors import ConfigError

T = TypeVar("T")


@runtime_checkable
class Codec(Protocol[T]):
    """Bytes to one kind of value and back; safe to use from any thread.

    ``decode(encode(value))`` gives a value equal to the first. Errors are EncodeError and
    DecodeError without a location: whoever knows topic, partition and offset adds them.
    """

    @property
    def name(self) -> str:
        """What it is called in settings, errors and ``describe``."""

    def encode(self, value: T) -> bytes:
        """The bytes of ``value``; raises EncodeError."""

    def decode(self, data: bytes) -> T:
        """The value of ``data``; raises DecodeError. On the hot path of every read."""


@runtime_checkable
class KeyCodec(Codec[T], Protocol[T]):
    """A codec for keys: equal keys give equal bytes, and a prefix may have a meaning."""

    @property
    def suffix_bytes(self) -> int:
        """How many bytes at the end of a raw key have no say in its partition."""

    def prefix(self, value: Any) -> bytes:
        """The bytes with which exactly the wanted raw keys begin; raises ConfigError
        where there is no such prefix, and EncodeError where it cannot be written.

        ``prefix_bounds`` turns them into the bounds of a scan.
        """


class WholeKey:
    """The key part of a codec whose every byte counts and whose beginning means nothing."""

    name: str
    suffix_bytes = 0

    def prefix(self, value: Any) -> bytes:
        """Refuse: the first bytes of such a key are no part that a user could name."""
        raise ConfigError(
            f"{self.name} keys have no prefix to ask for {value!r}",
            hint="prefix() works on string, bytes and composite keys",
        )


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
