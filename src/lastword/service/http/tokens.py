"""Bearer tokens: made here, shown once, kept as hashes only.

A token has 256 random bits, so one round of SHA-256 is enough: there is nothing to guess.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

import msgspec

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.errors import ConfigError
from lastword.jvm.file_lock import locked

Scope = Literal["read", "write", "admin"]
EVERY_TABLE = "*"
PREFIX = "lw_"
_REREAD_S = 1.0
_LOCK_WAIT_S = 10.0
_NAME = re.compile(r"[\w.@-]{1,64}")


class StoredToken(msgspec.Struct, frozen=True):
    """What is kept of a token. ``scopes`` maps a table, or ``*`` for all, to what is allowed."""

    name: str
    sha256: str
    scopes: dict[str, Scope]
    created_ms: int


class _Tokens(msgspec.Struct):
    tokens: list[StoredToken] = msgspec.field(default_factory=list)


class TokenFile:
    """The tokens of one installation, in a file that only its owner can read.

    A running service accepts a new token at once, and notices a revoked one within a second.
    """

    def __init__(self, path: Path, clock: Clock = SYSTEM_CLOCK) -> None:
        self._path = path
        self._clock = clock
        self._by_hash: Mapping[str, StoredToken] = {}
        self._read: tuple[int, int] | None = None
        self._reread_at = 0.0

    def create(self, name: str, scopes: Mapping[str, Scope]) -> str:
        """Make a token; its secret is returned here and kept nowhere."""
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"{name!r} is not a name for a token",
                hint="use up to 64 letters, digits and . @ _ -",
            )
        _check_scopes(scopes)
        secret = PREFIX + secrets.token_urlsafe(32)
        with locked(self._path.with_suffix(".lock"), _LOCK_WAIT_S):
            kept = self._load()
            if any(token.name == name for token in kept):
                raise ConfigError(
                    f"there is a token named {name} already",
                    hint=f"revoke it first: lastword token revoke {name}",
                )
            token = StoredToken(name, hash_of(secret), dict(scopes), self._clock.now_ms())
            self._store([*kept, token])
        return secret

    def revoke(self, name: str) -> None:
        """Revoke the token of that name."""
        with locked(self._path.with_suffix(".lock"), _LOCK_WAIT_S):
            kept = self._load()
            left = [token for token in kept if token.name != name]
            if len(left) == len(kept):
                raise ConfigError(
                    f"there is no token named {name}", hint="see them with: lastword token list"
                )
            self._store(left)

    def tokens(self) -> list[StoredToken]:
        """Every token there is, oldest first."""
        return self._load()

    def find(self, secret: str) -> StoredToken | None:
        """The token with this ``secret``, or None."""
        return self.find_hashed(hash_of(secret))

    def find_hashed(self, hashed: str, *, fresh: bool = False) -> StoredToken | None:
        """The token whose secret has this hash, or None; ``fresh`` always reads the file."""
        now = self._clock.monotonic()
        # An unknown token may be new: it is often used right after it was made.
        if fresh or now >= self._reread_at or hashed not in self._by_hash:
            self._reread_at = now + _REREAD_S
            self._reload()
        return self._by_hash.get(hashed)

    def _reload(self) -> None:
        try:
            stat = self._path.stat()
        except FileNotFoundError:
            self._by_hash, self._read = {}, None
            return
        if (stat.st_mtime_ns, stat.st_ino) != self._read:
            self._by_hash = {token.sha256: token for token in self._load()}
            self._read = (stat.st_mtime_ns, stat.st_ino)

    def _load(self) -> list[StoredToken]:
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return []
        try:
            return msgspec.json.decode(data, type=_Tokens).tokens
        except msgspec.MsgspecError as error:
            raise ConfigError(
                f"{self._path} does not hold tokens: {error}",
                hint="delete it to start with a new token",
            ) from error

    def _store(self, tokens: list[StoredToken]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = self._path.with_suffix(".new")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(_Tokens(tokens))))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)


def parse_scope(text: str) -> tuple[str, Scope]:
    """``users=write`` or ``write``, which is for every table."""
    table, _, scope = text.rpartition("=")
    parsed = {table or EVERY_TABLE: scope}
    _check_scopes(parsed)
    return table or EVERY_TABLE, parsed[table or EVERY_TABLE]  # type: ignore[return-value]


def _check_scopes(scopes: Mapping[str, str]) -> None:
    for table, scope in scopes.items():
        if not table or scope not in get_args(Scope):
            raise ConfigError(
                f"{table}={scope} is not a scope",
                hint="TABLE=SCOPE or SCOPE, where SCOPE is one of " + ", ".join(get_args(Scope)),
            )
    if not scopes:
        raise ConfigError("a token needs a scope", hint="such as read, or users=write")


def hash_of(secret: str) -> str:
    """The hash by which a secret is known."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
