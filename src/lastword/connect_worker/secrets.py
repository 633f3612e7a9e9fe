"""Secrets of connectors, in files that only this user and the worker can read.

A connector's configuration is in a topic and in the answers of the REST interface. There it only
says where its secret is; the worker reads the file when the connector starts.
"""

from __future__ import annotations

from pathlib import Path

from lastword.private_files import make_private_directory, write_private

_NAME = "secret"


def keep_secret(directory: Path, connector: str, secret: str) -> str:
    """Write a secret for a connector; returns what stands for it in the configuration."""
    path = _file(directory, connector)
    make_private_directory(directory)
    write_private(path, f"{_NAME}={_escaped(secret)}\n".encode())
    return f"${{file:{path}:{_NAME}}}"


def forget_secret(directory: Path, connector: str) -> None:
    """Delete it; idempotent."""
    _file(directory, connector).unlink(missing_ok=True)


def _file(directory: Path, connector: str) -> Path:
    return directory.absolute() / f"{connector}.properties"


def _escaped(secret: str) -> str:
    """As Java reads properties: spaces at the beginning and control characters escaped."""
    return "".join(
        f"\\u{ord(letter):04x}" if letter in "\\ \t\n\r\f" else letter for letter in secret
    )
