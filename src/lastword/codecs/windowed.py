"""Keys of windows, in the two formats that Kafka Streams writes.

``TimeWindowedSerializer``     key bytes, window start            (8 bytes, big-endian)
``SessionWindowedSerializer``  key bytes, session end, its start  (8 bytes each)

Any Kafka client can read them. As in Kafka Streams, the times do not count for the partition: all
windows of a key are in the key's partition. Keys differ in length, so these bytes do not sort by
key and then by time. The windows of *one* key do; ``time_bounds`` gives the range to scan.
"""

from __future__ import annotations

import re
import struct
from copy import copy
from typing import Any, NamedTuple, TypeVar

import msgspec

from lastword.codecs.base import Context, KeyCodec
from lastword.codecs.defaults import WholeKey
from lastword.codecs.resolve import CodecSpec, key_codec
from lastword.errors import ConfigError, DecodeError, EncodeError

_START = struct.Struct(">q")
_END_START = struct.Struct(">qq")
_IN_WINDOW = re.compile(rb"(.*)@([0-9]{1,19})", re.DOTALL)
_IN_SESSION = re.compile(rb"(.*)@([0-9]{1,19})-([0-9]{1,19})", re.DOTALL)
# Times are never negative, so this bit is never set: the first bytes above every time.
_ABOVE_EVERY_TIME = b"\x80" + bytes(7)


class WindowedKey(NamedTuple):
    """A key in the window that starts at ``start_ms``; the codec knows the window's length."""

    key: Any
    start_ms: int


class SessionKey(NamedTuple):
    """A key in a session, from its first to its last record (both times inclusive)."""

    key: Any
    start_ms: int
    end_ms: int


W = TypeVar("W", bound="InWindows")


class InWindows(WholeKey):
    """A key and the times of its window; as text ``KEY@START`` or ``KEY@START-END``."""

    inner: KeyCodec[Any]

    def bound(self: W, context: Context) -> W:
        """The codec with its inner codec bound; the times do not depend on the topic."""
        bound = copy(self)
        bound.inner = self.inner.bound(context)
        return bound

    def prefix(self, value: Any) -> bytes:
        """All windows of the keys that begin with ``value``, as defined by the inner codec."""
        return self.inner.prefix(value)

    def text_prefix(self, text: bytes) -> bytes:
        """The same for the beginning of the inner key's text."""
        return self.inner.text_prefix(text)

    def text(self, data: bytes) -> str | None:
        """The text of the inner key, and the times."""
        try:
            key = self.decode(data)
        except DecodeError:
            return None
        inner = self.inner.text(data[: -self.suffix_bytes])
        return None if inner is None else f"{inner}@{_times(key)}"

    def to_json(self, data: bytes) -> bytes:
        """An object of the key and its times: ``key``, ``start`` and, for a session, ``end``."""
        key = self.decode(data)
        shown = {"key": msgspec.Raw(self.inner.to_json(data[: -self.suffix_bytes]))}
        times = {"start": key.start_ms} | ({"end": key.end_ms} if len(key) == 3 else {})
        return msgspec.json.encode(shown | times)


class WindowedCodec(InWindows):
    """Kafka's TimeWindowedSerializer around the codec of the key."""

    suffix_bytes = _START.size

    def __init__(self, inner: KeyCodec[Any], size_ms: int) -> None:
        if size_ms <= 0:
            raise ConfigError(
                f"a window of {size_ms} ms is too short", hint="give the size in milliseconds"
            )
        self.inner = _plain(inner)
        self.size_ms = size_ms
        self.name = f"windowed({inner.name})"

    def encode(self, value: WindowedKey) -> bytes:
        """The key's bytes, then the start."""
        if not isinstance(value, WindowedKey):
            raise EncodeError(
                f"a {self.name} codec takes WindowedKey, not {type(value).__name__}",
                hint="WindowedKey(key, start_ms)",
            )
        return self.inner.encode(value.key) + _time(value.start_ms)

    def decode(self, data: bytes) -> WindowedKey:
        """The key and the start of its window."""
        times = data[-8:]
        if len(times) < 8 or times[0] & 0x80:
            raise _not_windowed(self.name, data)
        return WindowedKey(self.inner.decode(data[:-8]), _START.unpack(times)[0])

    def end_ms(self, key: WindowedKey) -> int:
        """The end of the window of ``key`` (exclusive)."""
        return key.start_ms + self.size_ms

    def parse(self, text: bytes) -> bytes:
        """``KEY@START``, the time in milliseconds since 1970."""
        key, start_ms = _split(text, _IN_WINDOW, "KEY@START")
        return self.inner.parse(key) + _time(int(start_ms))

    def from_json(self, document: bytes) -> bytes:
        """From an object as ``to_json`` writes it."""
        key = _from_object(document, _WindowObject)
        return self.inner.from_json(bytes(key.key)) + _time(key.start)

    def time_bounds(
        self, key: Any, from_ms: int = 0, until_ms: int | None = None
    ) -> tuple[bytes, bytes]:
        """The range of the windows of ``key`` that start at ``from_ms <= start < until_ms``.

        Longer keys may lie between the bounds: a raw key in the range is one of these windows only
        if it is as long as the first bound.
        """
        raw = self.inner.encode(key)
        return raw + _time(from_ms), raw + _end(until_ms)


class SessionCodec(InWindows):
    """Kafka's SessionWindowedSerializer around the codec of the key."""

    suffix_bytes = _END_START.size

    def __init__(self, inner: KeyCodec[Any]) -> None:
        self.inner = _plain(inner)
        self.name = f"session({inner.name})"

    def encode(self, value: SessionKey) -> bytes:
        """The key's bytes, the end, the start."""
        if not isinstance(value, SessionKey):
            raise EncodeError(
                f"a {self.name} codec takes SessionKey, not {type(value).__name__}",
                hint="SessionKey(key, start_ms, end_ms)",
            )
        return self._raw(self.inner.encode(value.key), value.start_ms, value.end_ms)

    def decode(self, data: bytes) -> SessionKey:
        """The key, and the start and end of its session."""
        times = data[-16:]
        if len(times) < 16 or times[0] & 0x80 or times[8] & 0x80:
            raise _not_windowed(self.name, data)
        end_ms, start_ms = _END_START.unpack(times)
        return SessionKey(self.inner.decode(data[:-16]), start_ms, end_ms)

    def parse(self, text: bytes) -> bytes:
        """``KEY@START-END``, the times in milliseconds since 1970."""
        key, start_ms, end_ms = _split(text, _IN_SESSION, "KEY@START-END")
        return self._raw(self.inner.parse(key), int(start_ms), int(end_ms))

    def from_json(self, document: bytes) -> bytes:
        """From an object as ``to_json`` writes it."""
        key = _from_object(document, _SessionObject)
        return self._raw(self.inner.from_json(bytes(key.key)), key.start, key.end)

    def _raw(self, inner: bytes, start_ms: int, end_ms: int) -> bytes:
        if end_ms < start_ms:
            raise EncodeError(f"the session from {start_ms} to {end_ms} ends before it starts")
        return inner + _time(end_ms) + _time(start_ms)

    def time_bounds(
        self, key: Any, from_ms: int = 0, until_ms: int | None = None
    ) -> tuple[bytes, bytes]:
        """The range of the sessions of ``key`` that *end* at ``from_ms <= end < until_ms``.

        As with windows, a raw key in the range belongs to ``key`` only if it is as long as the
        first bound.
        """
        raw = self.inner.encode(key)
        return raw + _time(from_ms) + bytes(8), raw + _end(until_ms) + bytes(8)


def windowed(inner: CodecSpec, size_ms: int) -> WindowedCodec:
    """Keys of windows that are ``size_ms`` long: ``windowed("string", 60_000)``."""
    return WindowedCodec(key_codec(inner), size_ms)


def session(inner: CodecSpec) -> SessionCodec:
    """Keys of sessions: ``session("string")``."""
    return SessionCodec(key_codec(inner))


def _plain(inner: KeyCodec[Any]) -> KeyCodec[Any]:
    if inner.suffix_bytes:
        raise ConfigError(
            f"{inner.name} is already windowed", hint="give the codec of the key inside the window"
        )
    return inner


class _WindowObject(msgspec.Struct):
    key: msgspec.Raw
    start: int


class _SessionObject(_WindowObject):
    end: int


Obj = TypeVar("Obj", bound=_WindowObject)


def _from_object(document: bytes, kind: type[Obj]) -> Obj:
    try:
        return msgspec.json.decode(document, type=kind)
    except ValueError as error:
        raise EncodeError(
            f"not the key of a window: {error}",
            hint=f"write an object of {', '.join(kind.__struct_fields__)}",
        ) from error


def _split(text: bytes, form: re.Pattern[bytes], looks: str) -> tuple[bytes, ...]:
    found = form.fullmatch(text)
    if found is None:
        raise EncodeError(
            f"{text.decode(errors='replace')!r} is not a windowed key",
            hint=f"write {looks}, times in milliseconds; `lastword ls --prefix` lists windows",
        )
    return found.groups()


def _times(key: WindowedKey | SessionKey) -> str:
    return f"{key.start_ms}-{key.end_ms}" if isinstance(key, SessionKey) else str(key.start_ms)


def _time(ms: int) -> bytes:
    try:
        if ms >= 0:
            return _START.pack(ms)
    except (struct.error, TypeError) as error:
        raise _not_a_time(ms) from error
    raise _not_a_time(ms)


def _end(until_ms: int | None) -> bytes:
    return _ABOVE_EVERY_TIME if until_ms is None else _time(until_ms)


def _not_a_time(ms: object) -> EncodeError:
    return EncodeError(
        f"{ms!r} is not the time of a window", hint="whole milliseconds since the epoch, from 0 up"
    )


def _not_windowed(name: str, data: bytes) -> DecodeError:
    return DecodeError(
        f"{len(data)} bytes are not a {name} key: they do not end in the times of a window",
        hint="the topic holds keys of another kind; the bytes codec shows what is there",
    )
