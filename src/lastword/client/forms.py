"""The keys and values of one table in requests and answers: keys in a path, values as JSON."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import UNSET, Raw, UnsetType

from lastword.codecs.base import Codec, Context, KeyCodec
from lastword.codecs.resolve import CODEC_NAMES, CodecSpec, codec, key_codec
from lastword.codecs.windowed import SessionCodec, WindowedCodec
from lastword.errors import ConfigError, DecodeError, InvalidRecordError
from lastword.records import NO_HEADERS, Version
from lastword.table.entry import Change, Entry

# The values of these codecs follow from their JSON; of any other codec a client gets the JSON.
_VALUES_BY_NAME = ("json", "string", "int64", "bytes")
# A path with these would be another path to some proxies.
_DOTS = (".", "..")


class TableInfo(msgspec.Struct):
    """A table in the list of a service."""

    name: str
    topic: str
    mount: str | None
    windowed: bool
    key: str
    value: str


class Item(msgspec.Struct):
    """A key's current record, or a change of it, as pages and events have it."""

    key: str | None = None
    value: Raw = Raw(b"null")
    version: str | None = None
    timestamp: int | None = None
    expires_at: int | None = None
    raw_key: str | UnsetType = UNSET
    error: str | UnsetType = UNSET


class Forms:
    """The codecs of a table, and the text of its keys and values in requests and answers."""

    def __init__(self, info: TableInfo, key: CodecSpec | None, value: CodecSpec | None) -> None:
        self.info = info
        self.key: KeyCodec[Any] = _key_codec(info, key).bound(Context(info.topic, "key"))
        by_name = info.value if info.value in _VALUES_BY_NAME else "json"
        chosen = codec(by_name if value is None else value)
        self.value: Codec[Any] = chosen.bound(Context(info.topic, "value"))
        self.windowed = isinstance(self.key, WindowedCodec | SessionCodec)
        if self.windowed != info.windowed:
            raise ConfigError(
                f"the keys of {info.name} are {info.key}, not {self.key.name}",
                hint="pass the key codec with which the table is served",
            )
        is_json = self.value.wire == "json"
        self.document: Callable[[Any], bytes] = self.value.encode if is_json else self._document
        """The JSON of a value."""
        self.value_of: Callable[[bytes], Any] = self.value.decode if is_json else self._value_of
        """The value of a JSON document."""

    def raw_key(self, key: Any) -> bytes:
        """The bytes of a key; raises InvalidRecordError for an empty one."""
        raw = self.key.encode(key)
        if not raw:
            raise InvalidRecordError(
                "a key has at least one byte", hint="compaction needs a key; choose one"
            )
        return raw

    def key_target(self, raw: bytes, operation: str = "") -> str:
        """The path and query that name a raw key."""
        text = None if self.windowed else self.key.text(raw)
        start = f"/tables/{self.info.name}/keys/"
        if text is None or text in _DOTS:
            return f"{start}{base64url(raw)}{operation}?encoding=base64url"
        return f"{start}{quote(text, safe='')}{operation}"

    def entry(self, item: Item, raw_key: bytes | None = None) -> Entry:
        """The entry of an item; raises DecodeError for one that the service could not read."""
        version = Version.parse(item.version or "")
        if item.error is not UNSET:
            raise self._bad(item.error, version)
        raw = self._raw_key_of(item) if raw_key is None else raw_key
        return Entry(
            self.key.decode(raw),
            self.value_of(bytes(item.value)),
            version,
            item.timestamp or 0,
            NO_HEADERS,
            item.expires_at,
        )

    def change(self, item: Item, *, deleted: bool) -> Change:
        """The change of an event."""
        version = None if item.version is None else Version.parse(item.version)
        if item.error is not UNSET and version is not None:
            raise self._bad(item.error, version)
        return Change(
            self.key.decode(self._raw_key_of(item)),
            None if deleted else self.value_of(bytes(item.value)),
            deleted,
            version,
            item.timestamp,
            NO_HEADERS,
        )

    def _raw_key_of(self, item: Item) -> bytes:
        if item.raw_key is not UNSET:
            return from_base64url(item.raw_key)
        return self.key.parse((item.key or "").encode())

    def _bad(self, reason: str, version: Version) -> DecodeError:
        return DecodeError(
            reason,
            topic=self.info.topic,
            partition=version.partition,
            offset=version.offset,
            hint="write a good value for the key, or delete it",
        )

    def _document(self, value: Any) -> bytes:
        return self.value.to_json(self.value.encode(value))

    def _value_of(self, document: bytes) -> Any:
        return self.value.decode(self.value.from_json(document))


def base64url(raw: bytes) -> str:
    """Base64url without padding, as the service writes it."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def from_base64url(text: str) -> bytes:
    """The bytes of it."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _key_codec(info: TableInfo, given: CodecSpec | None) -> KeyCodec[Any]:
    if given is not None:
        return key_codec(given)
    if info.key in CODEC_NAMES:
        return key_codec(info.key)
    raise ConfigError(
        f"the keys of {info.name} are {info.key}, and that name does not describe the codec",
        hint="pass key= with the codec of the keys, as for a Table",
    )
