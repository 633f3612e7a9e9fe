"""Keys of windows as a person types and reads them: ``user-1@1700000000000``."""

from __future__ import annotations

from typing import Any

from lastword.cli.support.literals import parse_literal
from lastword.cli.support.output import as_text
from lastword.codecs.resolve import CodecSpec
from lastword.codecs.windowed import SessionKey, WindowedKey, session, windowed
from lastword.errors import ConfigError

SESSION = "session"


def windowed_codec(key: str, window: str) -> CodecSpec:
    """The codec of keys in windows that long, in milliseconds, or in sessions."""
    if window == SESSION:
        return session(key)
    if window.isdecimal():
        return windowed(key, int(window))
    raise ConfigError(
        f"a window cannot be {window!r}", hint="it takes a length in milliseconds, or session"
    )


def parse_windowed(text: str, codec: str, window: str) -> WindowedKey | SessionKey:
    """``KEY@START``, or for sessions ``KEY@START-END``, in milliseconds since 1970."""
    key, at, times = text.rpartition("@")
    start, _, end = times.partition("-")
    form = "KEY@START-END" if window == SESSION else "KEY@START"
    if not at or not start.isdecimal() or (window == SESSION) != end.isdecimal():
        raise ConfigError(
            f"{text!r} names no window",
            hint=f"write {form}, times in milliseconds; `lastword ls --prefix` lists windows",
        )
    inner = parse_literal(key, codec)
    if window == SESSION:
        return SessionKey(inner, int(start), int(end))
    return WindowedKey(inner, int(start))


def key_text(key: Any) -> str:
    """A decoded key for people, in the form that ``parse_windowed`` takes."""
    if isinstance(key, WindowedKey):
        return f"{as_text(key.key)}@{key.start_ms}"
    if isinstance(key, SessionKey):
        return f"{as_text(key.key)}@{key.start_ms}-{key.end_ms}"
    return as_text(key)


def key_object(key: Any) -> Any:
    """A decoded key for JSON: that of a window is an object with its times."""
    if isinstance(key, WindowedKey):
        return {"key": key.key, "start": key.start_ms}
    if isinstance(key, SessionKey):
        return {"key": key.key, "start": key.start_ms, "end": key.end_ms}
    return key
