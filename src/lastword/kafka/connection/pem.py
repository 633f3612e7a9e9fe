"""PEM files, which hold TLS certificates and keys."""

from __future__ import annotations

import re
from pathlib import Path

from lastword.errors import ConfigError

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----.+?-----END \1-----", re.DOTALL)
_PKCS8 = ("PRIVATE KEY", "ENCRYPTED PRIVATE KEY")


def readable(path: Path | None) -> str | None:
    """The path in the form that clients accept; checks that they can open it."""
    if path is not None:
        _read(path)
    return None if path is None else str(path)


def certificates(path: Path) -> str:
    """Every certificate in the file, without any keys."""
    return "\n".join(_blocks(path, ("CERTIFICATE",), what="certificate"))


def pkcs8_key(path: Path) -> str:
    """The private key in the file, in the only form Java's clients read."""
    if not any(label in _PKCS8 for label, _ in _labelled(path)) and "PRIVATE KEY" in _read(path):
        raise ConfigError(
            f"{path} holds a private key that is not PKCS #8, which Java needs",
            hint=f"convert it: openssl pkcs8 -topk8 -nocrypt -in {path} -out key.pem",
        )
    return _blocks(path, _PKCS8, what="private key")[0]


def _blocks(path: Path, labels: tuple[str, ...], *, what: str) -> list[str]:
    found = [block for label, block in _labelled(path) if label in labels]
    if not found:
        raise ConfigError(f"{path} holds no {what}", hint=f"give a PEM file with a {what}")
    return found


def _labelled(path: Path) -> list[tuple[str, str]]:
    return [(match[1], match[0]) for match in _BLOCK.finditer(_read(path))]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise ConfigError(
            f"cannot read {path}: {error.strerror}", hint="check the path and who may read it"
        ) from error
