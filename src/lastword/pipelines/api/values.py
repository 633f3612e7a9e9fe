"""Values of events and of stores: to the user's functions None is no value, and NULL is a null."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lastword.codecs.base import Context
from lastword.codecs.null import NULL
from lastword.codecs.resolve import CodecSpec, codec


class Values:
    """A codec by which a null that somebody wrote stays a value.

    A codec gives None for JSON's ``null``. Where None means that there is no value, it would
    delete: here it comes as NULL, and what a function makes NULL is written as ``null``.
    """

    def __init__(self, spec: CodecSpec, topic: str | None = None) -> None:
        coder = codec(spec)
        if topic is not None:
            coder = coder.bound(Context(topic, "value"))
        self._decode: Callable[[bytes], Any] = coder.decode
        self._encode: Callable[[Any], bytes] = coder.encode

    def decode(self, data: bytes) -> Any:
        """The value, never None; raises DecodeError."""
        value = self._decode(data)
        return NULL if value is None else value

    def encode(self, value: Any) -> bytes:
        """Its bytes; raises EncodeError. For None, which is no value, nobody asks."""
        return self._encode(None if value is NULL else value)
