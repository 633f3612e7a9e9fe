"""Locks between processes that the kernel releases when their holder ends in any way.

A lock belongs to an open file (``flock``), so a child process that inherits the file holds the lock
too, also after its parent has ended.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lastword.clock import SYSTEM_CLOCK
from lastword.private_files import make_private, make_private_directory

_POLL_SECONDS = 0.05


def acquire(path: Path, timeout: float) -> int:
    """Lock ``path`` and return its open file; TimeoutError when another holds it for longer.

    Any user who can open the file can lock it, so only its owner can open it. Closing the file
    releases the lock.
    """
    make_private_directory(path.parent)
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    deadline = SYSTEM_CLOCK.monotonic() + timeout
    try:
        make_private(fd)  # one of an earlier version was readable by all
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return fd
            except BlockingIOError:
                if SYSTEM_CLOCK.monotonic() > deadline:
                    raise TimeoutError(f"{path} is locked by another process") from None
                SYSTEM_CLOCK.sleep(_POLL_SECONDS)
    except BaseException:
        os.close(fd)
        raise


@contextmanager
def locked(path: Path, timeout: float) -> Iterator[None]:
    """Hold the lock on ``path`` for a while; TimeoutError as for ``acquire``."""
    fd = acquire(path, timeout)
    try:
        yield
    finally:
        os.close(fd)


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock now.

    The check takes the lock for a moment, so an ``acquire`` may have to wait that long.
    """
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
