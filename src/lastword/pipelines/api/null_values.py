"""Values of events and stores: for user functions None means no value, and NULL means null."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lastword.codecs.base import Context
from lastword.codecs.batches import decode_fields, encode_batch
from lastword.codecs.null import NULL
from lastword.codecs.resolve import CodecSpec, codec


class Values:
    """A codec that keeps null as a value.

    A codec decodes JSON's ``null`` as None. Where None means that there is no value, that would
    delete the key, so a null is decoded as NULL here, and NULL is encoded as ``null``.
    """

    def __init__(self, spec: CodecSpec, topic: str | None = None) -> None:
        coder = codec(spec)
        if topic is not None:
            coder = coder.bound(Context(topic, "value"))
        self.id_header = coder.id_header
        self._coder = coder
        self._decode: Callable[[bytes], Any] = coder.decode
        self._encode: Callable[[Any], bytes] = coder.encode

    def decode(self, data: bytes) -> Any:
        """The value, never None; raises DecodeError."""
        value = self._decode(data)
        return NULL if value is None else value

    def decode_batch(
        self, data: Sequence[bytes | None], fields: tuple[str, ...] | None = None
    ) -> list[Any]:
        """The values of many records, None where there is no value; raises DecodeError.

        Objects may lack members that are not among ``fields``; None: they have all.
        """
        found = decode_fields(self._coder, data, fields)
        for error in found.bad.values():
            raise error
        pairs = zip(data, found.values, strict=True)
        return [NULL if value is None and one is not None else value for one, value in pairs]

    def encode_batch(self, values: Sequence[Any]) -> list[bytes | None]:
        """The bytes of many values, None where there is no value; raises EncodeError."""
        if any(value is None or value is NULL for value in values):
            return [None if value is None else self.encode(value) for value in values]
        return [*encode_batch(self._coder, values)]

    def encode(self, value: Any) -> bytes:
        """Its bytes; raises EncodeError. Never called for None, which is no value."""
        return self._encode(None if value is NULL else value)
