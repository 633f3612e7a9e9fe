"""One table as the service sees it: name, mount, and the text forms of keys and values."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec import UNSET, Raw

from lastword.catalog.catalog_hint import CatalogHint
from lastword.codecs.base import prefix_bounds
from lastword.codecs.windowed import SessionCodec, SessionKey, WindowedCodec, WindowedKey
from lastword.errors import ConfigError, DecodeError, EncodeError
from lastword.records import Headers, Version
from lastword.service.api.keys import Encoding, from_base64url, to_base64url
from lastword.service.api.shapes import JSON_NULL, Item, Window
from lastword.table.entry import RawEntry
from lastword.table.table import Table

RESERVED = frozenset(
    (
        *("tables", "health", "ready", "metrics", "openapi.json", "instances"),
        *("cluster", "captures", "assets"),
    )
)
_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
_WINDOW = re.compile(r"(?P<start>[0-9]{1,19})(?:-(?P<end>[0-9]{1,19}))?")
_PATH = re.compile(r"(?:/[A-Za-z0-9._~-]+)+")


@dataclass(frozen=True)
class Mount:
    """A table to serve, and the short path at which it is mounted."""

    table: Table
    path: str | None = None
    conditions_required: bool = False
    """Whether every write must say which version of the key it replaces."""
    catalog_hint: CatalogHint | None = None
    """What the catalog says of the codecs, for errors of records that cannot be decoded."""


def check_mounts(mounts: Sequence[Mount]) -> None:
    """Refuse names and paths that are ambiguous."""
    names = [mount.table.name for mount in mounts]
    for name in names:
        if not _NAME.fullmatch(name) or names.count(name) > 1:
            raise ConfigError(
                f"a table cannot be served under the name {name!r}",
                hint="names must be unique and consist of letters, digits, '.', '_' and '-'",
            )
    paths = [mount.path for mount in mounts if mount.path is not None]
    for path in paths:
        if not _PATH.fullmatch(path) or path.split("/")[1] in RESERVED or ".." in path:
            raise ConfigError(
                f"{path!r} is not a path for a table",
                hint="a mount is like /users; the service needs " + ", ".join(sorted(RESERVED)),
            )
        if any((other + "/").startswith(path + "/") for other in paths if other is not path):
            raise ConfigError(
                f"the mount {path} hides another one", hint="mount tables side by side"
            )


class ServedTable:
    """A started table with the text forms of its keys and values."""

    def __init__(self, mount: Mount) -> None:
        self.table = mount.table
        self.name = mount.table.name
        self.path = mount.path
        self.conditions_required = mount.conditions_required
        self._hint = mount.catalog_hint
        self.raw = mount.table.raw
        self.decoder = mount.table.decoder
        self.values = self.decoder.value
        codec = self.decoder.key
        self.windows = codec if isinstance(codec, WindowedCodec | SessionCodec) else None
        self.keys = codec if self.windows is None else self.windows.inner
        """The codec of the keys that a request names; a window is named beside its key."""

    @property
    def decided_by_owners(self) -> bool:
        """Whether owners decide every write, with a condition or without."""
        return self.raw.owned is not None and self.raw.owned.decides_all

    # -- from a request ----------------------------------------------------------------------

    def raw_key(self, text: bytes, encoding: Encoding = "text") -> bytes:
        """The raw key that a request names."""
        key = from_base64url(text) if encoding == "base64url" else self.keys.parse(text)
        if not key:
            raise EncodeError("a key has at least one byte", hint="name the key in the path")
        return key

    def require_readable(self, key: bytes) -> None:
        """Refuse to write a key that this table could not read; deleting one is allowed."""
        try:
            self.decoder.key.decode(key)
        except DecodeError as error:
            raise EncodeError(f"not a {self.decoder.key.name} key: {error}") from error

    def bounds(
        self, prefix: str | None, first: str | None, end: str | None, encoding: Encoding
    ) -> tuple[bytes | None, bytes | None]:
        """The range of raw keys that a page walks through; what is given must all hold."""
        low = None if first is None else self._bound(first, encoding)
        high = None if end is None else self._bound(end, encoding)
        if prefix is not None:
            begin, after = prefix_bounds(self._prefix(prefix, encoding))
            low = begin if low is None else max(begin, low)
            high = after if high is None or (after is not None and after < high) else high
        return low, high

    def _bound(self, text: str, encoding: Encoding) -> bytes:
        if encoding == "base64url":
            return from_base64url(text.encode())
        return self.keys.parse(text.encode()) if text else b""

    def _prefix(self, text: str, encoding: Encoding) -> bytes:
        if encoding == "base64url":
            return from_base64url(text.encode())
        return self.keys.text_prefix(text.encode())

    def window_key(self, text: bytes, window: str) -> bytes:
        """The raw key of one window: ``START``, or ``START-END`` for a session."""
        inner = self.keys.parse(text)
        codec = self.windows
        is_session = isinstance(codec, SessionCodec)
        found = _WINDOW.fullmatch(window)
        if found is None or (found["end"] is not None) != is_session:
            raise EncodeError(
                f"{window[:100]!r} is not a window of {self.name}",
                hint="START-END of a session, in milliseconds" if is_session else "START in ms",
            )
        start_ms = int(found["start"])
        if isinstance(codec, SessionCodec):
            return codec.encode(SessionKey(codec.inner.decode(inner), start_ms, int(found["end"])))
        if isinstance(codec, WindowedCodec):
            return codec.encode(WindowedKey(codec.inner.decode(inner), start_ms))
        raise ConfigError(f"{self.name} has no windows", hint="read it by key")

    # -- into an answer ----------------------------------------------------------------------

    def shown_key(self, raw: bytes, encoding: Encoding) -> tuple[str | None, str | None]:
        """(text, base64url): one of the two is None, unless the text omits a window."""
        text = None if encoding == "base64url" else self._key_text(raw)
        is_whole = text is not None and self.windows is None
        return text, None if is_whole else to_base64url(raw)

    def _key_text(self, raw: bytes) -> str | None:
        if self.windows is None:
            return self.keys.text(raw)
        suffix = self.windows.suffix_bytes
        return self.keys.text(raw[:-suffix]) if len(raw) >= suffix else None

    def shown_window(self, raw: bytes) -> Window | None:
        """The window of a raw key, if the table has windows and this is one."""
        if self.windows is None:
            return None
        try:
            key = self.windows.decode(raw)
        except DecodeError:
            return None
        if isinstance(key, SessionKey):
            return Window(key.start_ms, key.end_ms)
        return Window(key.start_ms, key.start_ms + self.windows.size_ms)  # type: ignore[union-attr]

    def shown_bytes(
        self, raw: bytes, headers: Headers
    ) -> tuple[bytes | None, str | None, str | None]:
        """(JSON, base64, error): a value that cannot be read has the last two."""
        try:
            return self.decoder.json_of(raw, headers), None, None
        except DecodeError as error:
            return None, _as_base64(raw), self._with_hint(error).reason

    def handle_bad(self, error: DecodeError, version: Version) -> None:
        """Raise the error of a record that cannot be decoded, unless the policy is to skip it."""
        try:
            self.decoder.handle_bad(error, *version)
        except DecodeError as failed:
            raise self._with_hint(failed) from error

    def _with_hint(self, error: DecodeError) -> DecodeError:
        """The error; it names the catalog if that alone says how the values are written."""
        return error if self._hint is None else self._hint.added_to(error)

    def shown_value(
        self, raw: bytes, headers: Headers, version: Version
    ) -> tuple[bytes | None, str | None, str | None]:
        """The same of a current value; all None if the policy skips bad values."""
        shown = self.shown_bytes(raw, headers)
        if shown[2] is not None and self.decoder.policy != "fail":
            self.handle_bad(DecodeError(shown[2]), version)
            return None, None, None
        return shown

    def shown_current(self, entry: RawEntry | None) -> Raw | None:
        """The current record of a key whose condition does not hold, as the problem shows it."""
        item = None if entry is None else self.item(entry, "base64url")
        return None if item is None else Raw(msgspec.json.encode(item))

    def item(self, entry: RawEntry, encoding: Encoding = "text") -> Item | None:
        """The entry as an item of a page; None when it is bad and the policy says to skip it."""
        value, raw_value, error = self.shown_value(entry.value, entry.headers, entry.version)
        if value is None and raw_value is None:
            return None
        key, raw_key = self.shown_key(entry.key, encoding)
        return Item(
            key=key,
            value=JSON_NULL if value is None else Raw(value),
            version=str(entry.version),
            timestamp=entry.timestamp_ms,
            expires_at=UNSET if entry.expires_at_ms is None else entry.expires_at_ms,
            raw_key=UNSET if raw_key is None else raw_key,
            window=self.shown_window(entry.key) or UNSET,
            raw_value=UNSET if raw_value is None else raw_value,
            error=UNSET if error is None else error,
        )


def _as_base64(raw: bytes) -> str:
    """Bytes in a JSON document."""
    return base64.b64encode(raw).decode()
