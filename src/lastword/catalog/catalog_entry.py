"""What the catalog says about one topic."""

from __future__ import annotations

from typing import Any

import msgspec

from lastword.codecs.base import Codec, KeyCodec
from lastword.codecs.row_schema import RowSchema
from lastword.codecs.windowed import SessionCodec, WindowedCodec

SESSION = "session"
_OF_CODECS = ("window", "subject", "key_subject", "message")


class CatalogEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the records of a topic are written, by whom and for what; unknown fields are None.

    ``key`` and ``value`` name codecs. ``subject`` is that of the values' schema in a registry,
    unless it is ``<topic>-value``, and ``key_subject`` that of the keys, unless it is
    ``<topic>-key``. ``message`` names the Protobuf message that values are, unless it is the first
    one of their schema. ``window`` is the length of the keys' windows in milliseconds,
    or ``session``. ``ttl`` is the time to live that writes get by default, such as ``30d``.
    ``owned_by`` is the id of the application whose instances own the writes; it is empty if none
    does any more. An empty ``mount``, ``ttl`` or ``description`` was removed. ``written_by`` is
    text for people, such as ``pipeline demo, store updates-per-user``. ``row_schema`` has the
    columns of a captured table. Fields that a newer version added are ignored.
    """

    key: str | None = None
    value: str | None = None
    window: str | None = None
    subject: str | None = None
    key_subject: str | None = None
    message: str | None = None
    mount: str | None = None
    ttl: str | None = None
    owned_by: str | None = None
    written_by: str | None = None
    description: str | None = None
    row_schema: RowSchema | None = None

    def updated(self, newer: CatalogEntry) -> CatalogEntry:
        """This entry updated by ``newer``; a mount or description that ``newer`` lacks stays.

        Codecs, window, subjects and message belong together: a newer codec replaces all of them.
        """
        known = {
            name: value
            for name in self.__struct_fields__
            if (value := getattr(newer, name)) is not None
        }
        if newer.key is not None or newer.value is not None:
            known |= {name: getattr(newer, name) for name in _OF_CODECS}
        return msgspec.structs.replace(self, **known)


_decoder = msgspec.json.Decoder(CatalogEntry)


def encode_entry(entry: CatalogEntry) -> bytes:
    """Encode the value of the entry's record."""
    return msgspec.json.encode(entry)


def decode_entry(value: bytes) -> CatalogEntry | None:
    """The entry, or None if the record is not a valid entry."""
    try:
        return _decoder.decode(value)
    except (msgspec.MsgspecError, ValueError):
        return None


def entry_of(
    key: KeyCodec[Any] | None, value: Codec[Any] | None, *, written_by: str | None = None
) -> CatalogEntry:
    """The entry of a topic with these codecs; a codec without a public name is omitted.

    A codec whose subject depends on the topic is bound to it.
    """
    window, inner = None, key
    if isinstance(key, WindowedCodec):
        window, inner = str(key.size_ms), key.inner
    elif isinstance(key, SessionCodec):
        window, inner = SESSION, key.inner
    return CatalogEntry(
        key=None if inner is None else inner.wire,
        value=None if value is None else value.wire,
        window=window,
        subject=getattr(value, "own_subject", None),
        key_subject=getattr(inner, "own_subject", None),
        message=getattr(value, "message", None),
        written_by=written_by,
    )
