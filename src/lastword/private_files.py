"""Files and directories that no other user of this machine can read, lock or replace."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_Kind = Callable[[int], bool]
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_private_directory(path: Path) -> None:
    """Create the directory, and what is missing above it, for its owner alone."""
    if not path.is_dir():
        make_private_directory(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def write_private(path: Path, content: bytes) -> None:
    """Replace the file by one with this content that only its owner can read."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)  # an old one would keep its mode
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
    new.replace(path)


def create_private(path: Path, content: bytes) -> None:
    """Create the file for its owner alone; an existing one stays as it is."""
    fd, new = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # for its owner alone
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(content)
        # Unlike a rename, a link never replaces a file that another process has just created.
        with suppress(FileExistsError):
            path.hardlink_to(new)
    finally:
        Path(new).unlink()


def is_private(path: Path) -> bool:
    """Whether the file is this user's and no other user can read or change it."""
    found = path.stat()
    return found.st_uid == os.getuid() and not found.st_mode & _OTHERS


def make_private(fd: int) -> None:
    """Remove other users' access to an open file; another user's file stays as it is."""
    with suppress(PermissionError):
        os.fchmod(fd, 0o600)


def tighten(directory: Path) -> None:
    """Remove other users' access to the directory and its files, if they could enter it.

    The directory itself comes last, so that an interrupted run starts again. Links are not
    followed.
    """
    if not _is_open(directory, stat.S_ISDIR):
        return
    for path, directories, files in os.walk(directory, topdown=False):
        for name in files:
            _close(Path(path, name), stat.S_ISREG)
        for name in directories:
            _close(Path(path, name), stat.S_ISDIR)
    _close(directory, stat.S_ISDIR)


def _is_open(path: Path, kind: _Kind) -> bool:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return False
    return kind(mode) and bool(mode & _OTHERS)


def _close(path: Path, kind: _Kind) -> None:
    # Skip files that are gone by now, or belong to another user.
    with suppress(FileNotFoundError, PermissionError):
        if _is_open(path, kind):
            path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~_OTHERS)
