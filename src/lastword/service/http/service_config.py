"""Where a service listens, and the checks that make that address safe."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from lastword.errors import ConfigError
from lastword.host_names import is_loopback
from lastword.service.http.limits import Limits

DEFAULT_PORT = 8090
TOKEN_LENGTH_MIN = 16
_VISIBLE = re.compile(r"[\x21-\x7e]*")


@dataclass(frozen=True)
class TlsFiles:
    """PEM files of the certificate chain and its key."""

    certificate: Path
    key: Path
    key_password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class ServiceConfig:
    """The settings of one service.

    Loopback is served without TLS and, unless ``require_token``, read without a token. Any other
    address needs TLS and a token for everything. ``allowed_hosts`` are further names under which
    the service is reached, ``allowed_origins`` pages of other origins that may use it.
    """

    tokens_file: Path
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    tls: TlsFiles | None = None
    token: str | None = field(default=None, repr=False)
    require_token: bool = False
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.token is not None:
            _check_token(self.token)

    @property
    def loopback(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback(self.host)

    @property
    def reads_need_token(self) -> bool:
        """Whether a caller without a token is refused everything."""
        return self.require_token or not self.loopback

    @property
    def url(self) -> str:
        """Where to find it."""
        return self.url_at(self.host)

    def url_at(self, host: str) -> str:
        """Where to find it under another name of this machine."""
        shown = f"[{host}]" if ":" in host else host
        return f"{'https' if self.tls else 'http'}://{shown}:{self.port}"

    def check(self, *, has_token: bool) -> None:
        """Refuse other addresses than loopback without a token and TLS."""
        if self.loopback:
            return
        if self.tls is None:
            raise ConfigError(
                f"{self.host} can be reached from other machines, so it needs TLS",
                hint="give --tls-certificate and --tls-key, or listen on 127.0.0.1",
            )
        if not has_token and self.token is None:
            raise ConfigError(
                f"{self.host} can be reached from other machines, so it needs a token",
                hint="make one first: lastword token create NAME --scope read",
            )


def _check_token(token: str) -> None:
    """Refuse a token that is easy to guess, or that a header cannot carry unchanged."""
    hint = "leave it out and use `lastword token create`, or generate one: openssl rand -hex 32"
    if len(token) < TOKEN_LENGTH_MIN:
        raise ConfigError(
            f"service.token has {len(token)} characters, fewer than {TOKEN_LENGTH_MIN}", hint=hint
        )
    if not _VISIBLE.fullmatch(token):
        raise ConfigError(
            "service.token has a character that is not visible ASCII, such as a space", hint=hint
        )
