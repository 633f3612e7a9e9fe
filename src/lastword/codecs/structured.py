"""JSON and msgpack without a schema.

Decoding gives plain Python: dict, list, str, int, float, bool, None (and bytes, datetime from
msgpack). JSON has neither NaN nor infinity: both are written as ``null``, as JavaScript does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from lastword.codecs.base import Column
from lastword.codecs.defaults import DECODING_FAILED, ENCODING_FAILED, WholeKey
from lastword.codecs.evolution import split_version
from lastword.codecs.null import encode_null
from lastword.codecs.versions import ValueVersion
from lastword.errors import ConfigError, DecodeError, EncodeError

Format = Literal["json", "msgpack"]

# Validates a document without building objects: four times faster than decoding.
_outline = msgspec.json.Decoder(msgspec.Raw).decode


class DocumentCodec(WholeKey):
    """The base of the document codecs: JSON is their text form.

    ``kind`` is the Python type of a document. ``decodes_to_check`` says that valid JSON may still
    be an invalid value, so it must be decoded to be checked.
    """

    def __init__(self, name: str, format: Format, kind: Any, *, decodes_to_check: bool) -> None:
        self.name = name
        self.wire = format
        self._is_json = format == "json"
        self._decodes_to_check = decodes_to_check
        self._read_json: Callable[[bytes], Any] = msgspec.json.Decoder(kind).decode

    def parse(self, text: bytes) -> bytes:
        """The document as the codec writes it, whatever the formatting of the text."""
        try:
            return self.encode(self._read_json(text))
        except DECODING_FAILED as error:
            raise EncodeError(
                f"{text.decode(errors='replace')!r} is not a {self.name} value: {error}",
                hint='write it as JSON; a text is written as "text", with its quotes',
            ) from error

    def text(self, data: bytes) -> str | None:
        """The document in JSON; None if ``parse`` would write other bytes."""
        try:
            text = msgspec.json.encode(self.decode(data), order="deterministic")
            return text.decode() if self.parse(text) == data else None
        except (DecodeError, EncodeError, TypeError):
            return None

    def to_json(self, data: bytes) -> bytes:
        """The document itself for JSON, after checking that it is one document."""
        if not self._is_json:
            return super().to_json(data)
        if self._decodes_to_check:
            self.decode(data)
        try:
            if not data.isascii():
                data.decode()
            _outline(data)
        except DECODING_FAILED as error:
            raise DecodeError(f"not json: {error}", hint="read the raw bytes instead") from error
        return data

    def from_json(self, document: bytes) -> bytes:
        """JSON without the surrounding white space."""
        if not self._is_json:
            return self._encoded(document)
        try:
            self.decode(document)
        except DecodeError as error:
            raise EncodeError(f"the value is {error}", hint="send one JSON document") from error
        return bytes(_outline(document))

    def column_value(self, data: bytes) -> str:
        """The document's text, for Spark's ``from_json``."""
        return data.decode() if self._is_json else super().column_value(data)

    def written_with(self, data: bytes) -> ValueVersion:
        """The version that the document states; raises DecodeError for what is no document."""
        try:
            plain = msgspec.json.decode(data) if self._is_json else msgspec.msgpack.decode(data)
        except DECODING_FAILED as error:
            raise DecodeError(
                f"not {self.name}: {error}", hint="the bytes codec shows what is there"
            ) from error
        return ValueVersion(split_version(plain)[1])

    def _encoded(self, document: bytes) -> bytes:
        try:
            value = self._read_json(document)
        except DECODING_FAILED as error:
            raise EncodeError(f"the value is not JSON that fits: {error}") from error
        return self.encode(value)


class StructuredCodec(DocumentCodec):
    """JSON or msgpack, without a schema.

    ``deterministic`` sorts the members of objects, so that equal values have equal bytes, as keys
    need. Values keep their members in the given order.
    """

    def __init__(self, format: Format, deterministic: bool = False) -> None:
        super().__init__(format, format, Any, decodes_to_check=False)
        self.column = Column("string", verbatim=format == "json")
        self._description = (format, deterministic)
        self._encode: Callable[[Any], bytes]
        self._decode: Callable[[bytes], Any]
        order: Literal["deterministic"] | None = "deterministic" if deterministic else None
        if format == "json":
            self._encode = msgspec.json.Encoder(enc_hook=encode_null, order=order).encode
            self._decode = msgspec.json.Decoder().decode
        else:
            self._encode = msgspec.msgpack.Encoder(enc_hook=encode_null, order=order).encode
            self._decode = msgspec.msgpack.Decoder().decode

    def __reduce__(self) -> tuple[type[StructuredCodec], tuple[Format, bool]]:
        return StructuredCodec, self._description

    def encode(self, value: Any) -> bytes:
        """The document; None becomes ``null``, which is a value and not a tombstone."""
        try:
            return self._encode(value)
        except ENCODING_FAILED as error:
            raise EncodeError(f"cannot be written as {self.name}: {error}") from error

    def decode(self, data: bytes) -> Any:
        """The value of the document."""
        try:
            return self._decode(data)
        except DECODING_FAILED as error:
            raise DecodeError(
                f"not {self.name}: {error}", hint="the bytes codec shows what is there"
            ) from error

    def newest(self) -> ValueVersion:
        """Unknown: a document without a class has no newest version."""
        return ValueVersion(None)

    def renewed(self, data: bytes) -> bytes | None:
        """Refuse: only a class knows how its versions follow each other."""
        raise ConfigError(
            f"{self.name} values without a class cannot be upgraded",
            hint="name the class: lastword schema rewrite TABLE --type MODULE:CLASS",
        )
