"""Keys of windows as a person types and reads them: ``user-1@1700000000000``."""

from __future__ import annotations

from typing import Any

from lastword.cli.support.output import as_text
from lastword.codecs.resolve import CodecSpec
from lastword.codecs.windowed import SessionKey, WindowedKey, session, windowed
from lastword.errors import ConfigError

SESSION = "session"


def windowed_codec(key: CodecSpec, window: str) -> CodecSpec:
    """The codec of keys in windows that long, in milliseconds, or in sessions."""
    if window == SESSION:
        return session(key)
    if window.isdecimal():
        return windowed(key, int(window))
    raise ConfigError(
        f"a window cannot be {window!r}", hint="it takes a length in milliseconds, or session"
    )


def key_text(key: Any) -> str:
    """A decoded key for people, in the form in which it is typed."""
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
