"""Compares jars with the committed list of their SHA-256; cheaply, when nothing changed.

Hashing 47 MB takes a tenth of a second and more, and the broker starts often. So the size and
modification time of each verified file are kept beside the jars: a file for which both are
unchanged is not read again. This catches damage and changes; it cannot stop someone who
may write into this directory and forges both.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from lastword.errors import JavaError

_log = logging.getLogger(__name__)

_MARKER = "verified.json"


class _Verified(msgspec.Struct):
    """What was verified: file name to (SHA-256, size, modification time in nanoseconds)."""

    files: dict[str, tuple[str, int, int]] = {}


def read_checksums(path: Path) -> dict[str, str]:
    """The lines of a ``sha256sum`` file as file name to SHA-256."""
    lines = path.read_text(encoding="ascii").splitlines()
    return {name: digest for digest, name in (line.split(maxsplit=1) for line in lines)}


def missing(directory: Path, expected: Mapping[str, str]) -> list[str]:
    """The expected files that are not in ``directory``."""
    return [name for name in expected if not (directory / name).is_file()]


def verify(directory: Path, expected: Mapping[str, str], *, hint: str) -> None:
    """Raise JavaError with ``hint`` unless every expected file in ``directory`` is the one."""
    marker = directory / _MARKER
    known = _read_marker(marker)
    verified = _Verified(files={})
    for name, digest in expected.items():
        path = directory / name
        stat = path.stat()
        entry = (digest, stat.st_size, stat.st_mtime_ns)
        if known.files.get(name) != entry and (found := _sha256(path)) != digest:
            raise JavaError(
                f"{path} is not the file Lastword was released with: its SHA-256 is {found}, "
                f"not {digest}",
                hint=hint,
            )
        verified.files[name] = entry
    if verified != known:
        _write_marker(marker, verified)


def _read_marker(marker: Path) -> _Verified:
    try:
        return msgspec.json.decode(marker.read_bytes(), type=_Verified)
    except (FileNotFoundError, msgspec.DecodeError):
        return _Verified()  # nothing known: every file is read


def _write_marker(marker: Path, verified: _Verified) -> None:
    new = marker.with_suffix(f".{os.getpid()}")  # others may be writing the same
    try:
        new.write_bytes(msgspec.json.encode(verified))
        new.replace(marker)
    except OSError as error:
        # Jars in a read-only place are good jars; they are read in full each time.
        _log.debug("cannot remember that %s is verified: %s", marker.parent, error)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
