"""Who a caller is, and which operations on which tables it may use."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from enum import IntEnum

from lastword.service.http.problems import RefusedError
from lastword.service.http.tokens import EVERY_TABLE, StoredToken, TokenFile, hash_of

_HASHES_MAX = 1000
# Visible ASCII only: `str.strip` would turn a non-breaking space into an empty token.
_BEARER = re.compile(rb"[Bb][Ee][Aa][Rr][Ee][Rr] +([\x21-\x7e]+)[ \t]*")


class Access(IntEnum):
    """What a caller may do; each includes those before it."""

    NONE = 0
    READ = 1
    WRITE = 2
    ADMIN = 3


class Caller:
    """One caller's rights, by table and ``everywhere``; without a token not ``identified``."""

    __slots__ = ("_scopes", "everywhere", "identified")

    def __init__(self, scopes: Mapping[str, Access], *, identified: bool) -> None:
        self._scopes = scopes
        self.everywhere = scopes.get(EVERY_TABLE, Access.NONE)
        self.identified = identified

    def access_to(self, table: str | None) -> Access:
        """What it may do with ``table``; None asks for the most it may do with any."""
        if table is None:
            return max(self._scopes.values(), default=Access.NONE)
        return max(self._scopes.get(table, Access.NONE), self.everywhere)

    def require(self, needed: Access, table: str | None) -> None:
        """Refuse unless the caller may do that: 401 when a token would help, else 403."""
        if self.access_to(table) >= needed:
            return
        what = f"{needed.name.lower()} access" + (f" to {table}" if table else "")
        if not self.identified:
            raise _needs_token(f"this needs a token with {what}")
        raise RefusedError(
            403,
            "Forbidden",
            f"this token does not give {what}",
            hint="make another one with `lastword token create NAME --scope ...`",
        )


def no_such_path(caller: Caller) -> RefusedError:
    """For a missing path, and for a mount that the caller may not know of."""
    if not caller.identified and not caller.everywhere:
        return _needs_token("this needs a token")
    return RefusedError(404, "PathNotFound", "there is no such path", hint="see /openapi.json")


def _needs_token(message: str) -> RefusedError:
    return RefusedError(
        401,
        "Unauthorized",
        message,
        hint="send it as `Authorization: Bearer TOKEN`; make one with `lastword token create`",
        www_authenticate="Bearer",
    )


class Authenticator:
    """Turns the Authorization header into a Caller.

    ``anonymous`` is what a caller without a token may do. ``preset`` is a token from the
    configuration, which may do everything.
    """

    def __init__(self, tokens: TokenFile, *, anonymous: Access, preset: str | None = None) -> None:
        self._tokens = tokens
        self._preset = None if preset is None else preset.encode("ascii")
        self._anonymous = Caller({EVERY_TABLE: anonymous}, identified=False)
        self._known: dict[str, tuple[StoredToken, Caller]] = {}
        self._hashes: dict[bytes, str] = {}

    def caller(self, authorization: bytes | None, *, fresh: bool = False) -> Caller:
        """Who sent this header; an unknown token is refused for every operation.

        A revoked token is noticed within a second; with ``fresh``, at once.
        """
        if authorization is None:
            return self._anonymous
        # Nearly every request brings a header that was seen before.
        if (known := self._hashes.get(authorization)) is not None:
            token = self._tokens.find_hashed(known, fresh=fresh)
            if token is not None:
                return self._holder_of(token)
            del self._hashes[authorization]
        given = _BEARER.fullmatch(authorization)
        if given is not None:
            secret = given[1]
            if self._preset is not None and hmac.compare_digest(secret, self._preset):
                return Caller({EVERY_TABLE: Access.ADMIN}, identified=True)
            hashed = hash_of(secret.decode("ascii"))
            token = self._tokens.find_hashed(hashed, fresh=fresh)
            if token is not None:
                if len(self._hashes) < _HASHES_MAX:
                    self._hashes[authorization] = hashed
                return self._holder_of(token)
        raise RefusedError(
            401,
            "Unauthorized",
            "the Authorization header holds no token that is known here",
            hint="send `Authorization: Bearer TOKEN`; see them with `lastword token list`",
            www_authenticate='Bearer error="invalid_token"',
        )

    def _holder_of(self, token: StoredToken) -> Caller:
        """The holder of a token, made once for as long as the token stays the same."""
        known = self._known.get(token.name)
        if known is not None and known[0] is token:
            return known[1]
        rights = {table: Access[scope.upper()] for table, scope in token.scopes.items()}
        caller = Caller(rights, identified=True)
        self._known[token.name] = token, caller
        return caller
