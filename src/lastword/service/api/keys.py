"""Keys as text in URLs and JSON, and back to the bytes they are.

A key has one text, which written into a path (URL-escaped) leads back to it:

    string, composite      the text itself
    bytes                  the bytes as UTF-8, where they are UTF-8
    int64                  the number: ``42``
    json, msgpack, typed   the JSON of the key

Where there is no such text, or on request, the raw bytes are given in base64url.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any, Literal, Protocol

import msgspec

from lastword.codecs.base import KeyCodec
from lastword.codecs.composite import CompositeCodec
from lastword.codecs.plain import BytesCodec, Int64Codec, StringCodec
from lastword.codecs.typed import TypedCodec
from lastword.codecs.windowed import SessionCodec, WindowedCodec
from lastword.errors import DecodeError, EncodeError
from lastword.service.http.problems import RefusedError

Encoding = Literal["text", "base64url"]

_NUMBER = re.compile(rb"0|-?[1-9][0-9]{0,19}")
_BASE64URL = re.compile(rb"[A-Za-z0-9_-]*")


class KeyForm(Protocol):
    """How the keys of one table are written as text."""

    def parse(self, text: bytes) -> bytes:
        """The raw key of a text in UTF-8; raises EncodeError when it is none."""

    def show(self, raw: bytes) -> str | None:
        """The text of a raw key, or None where no text leads back to it."""


class TextKeys:
    """Keys whose bytes are their text: strings, composites, bytes and a user's own codecs."""

    def __init__(self, codec: KeyCodec[Any]) -> None:
        self._codec = codec

    def parse(self, text: bytes) -> bytes:
        """The same bytes, if they are a key of this codec."""
        try:
            self._codec.decode(text)
        except DecodeError as error:
            raise EncodeError(f"not a {self._codec.name} key: {error}", hint=error.hint) from error
        return text

    def show(self, raw: bytes) -> str | None:
        """The bytes as text, if they are UTF-8."""
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return None


class NumberKeys:
    """Keys of Java's long."""

    def __init__(self, codec: KeyCodec[int]) -> None:
        self._codec = codec

    def parse(self, text: bytes) -> bytes:
        """The number in decimal, written the only way there is."""
        if not _NUMBER.fullmatch(text):
            raise EncodeError(
                "not an int64 key", hint="write the number in decimal, without leading zeros"
            )
        return self._codec.encode(int(text))

    def show(self, raw: bytes) -> str | None:
        """The number in decimal."""
        return _shown(lambda: str(self._codec.decode(raw)))


class JsonKeys:
    """Keys that are documents; in their one sorted form, whatever the text looks like."""

    def __init__(self, codec: KeyCodec[Any]) -> None:
        self._codec = codec
        kind = codec.type if isinstance(codec, TypedCodec) else Any
        self._read: Callable[[bytes], Any] = msgspec.json.Decoder(kind).decode

    def parse(self, text: bytes) -> bytes:
        """The document as the codec writes it."""
        try:
            return self._codec.encode(self._read(text))
        except (ValueError, RecursionError) as error:
            raise EncodeError(
                f"not a {self._codec.name} key: {error}",
                hint='write the key as JSON; a text is written as "text", with its quotes',
            ) from error

    def show(self, raw: bytes) -> str | None:
        """The document in JSON, unless it was written in a form of its own."""
        try:
            text = msgspec.json.encode(self._codec.decode(raw), order="deterministic")
            return text.decode() if self.parse(text) == raw else None
        except (DecodeError, EncodeError, TypeError):
            return None


class InnerKeys:
    """The part of windowed keys before the times."""

    def __init__(self, inner: KeyForm, suffix_bytes: int) -> None:
        self._inner = inner
        self._suffix = suffix_bytes

    def parse(self, text: bytes) -> bytes:
        """The raw inner key, without a window: the beginning of raw keys."""
        return self._inner.parse(text)

    def show(self, raw: bytes) -> str | None:
        """The text of the inner key."""
        return self._inner.show(raw[: -self._suffix]) if len(raw) >= self._suffix else None


def key_form(codec: KeyCodec[Any]) -> KeyForm:
    """The form of the keys of a codec."""
    if isinstance(codec, WindowedCodec | SessionCodec):
        return InnerKeys(key_form(codec.inner), codec.suffix_bytes)
    if isinstance(codec, Int64Codec):
        return NumberKeys(codec)
    if isinstance(codec, TypedCodec) or codec.name in ("json", "msgpack"):
        return JsonKeys(codec)
    return TextKeys(codec)


def has_text_prefixes(codec: KeyCodec[Any]) -> bool:
    """Whether the beginning of a key's text is the beginning of its bytes."""
    inner = codec.inner if isinstance(codec, WindowedCodec | SessionCodec) else codec
    return isinstance(inner, StringCodec | BytesCodec | CompositeCodec)


def from_base64url(text: bytes) -> bytes:
    """The bytes of base64url, with or without its padding."""
    bare = text.rstrip(b"=")
    if _BASE64URL.fullmatch(bare) and len(bare) % 4 != 1:
        return base64.urlsafe_b64decode(bare + b"=" * (-len(bare) % 4))
    raise RefusedError(
        400, "NotBase64Url", "that is not base64url", hint="letters, digits, - and _, no padding"
    )


def to_base64url(raw: bytes) -> str:
    """Base64url without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def from_base64(text: str) -> bytes:
    """The bytes of plain base64, as values of bytes are written in JSON."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise EncodeError(f"not base64: {error}") from error


def _shown(show: Callable[[], str]) -> str | None:
    try:
        return show()
    except DecodeError:
        return None
