"""How a process asks another one on this machine to close a store that it keeps open.

The holder listens on a named pipe beside the store, as long as it does not use the store. Unlike a
signal to the process in the lock file, a request cannot reach a process that reused its number.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.replicas.state_directory import holder_of

_PIPE = ".release"
_LOOK_S = 0.01


class ReleaseRequests:
    """The holder's end for the directory of one store, from creation to ``close``."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / _PIPE
        self._path.unlink(missing_ok=True)  # of a process that was killed
        os.mkfifo(self._path, 0o600)
        # Also for writing: a pipe without any writer could report its end, which is no request.
        self._fd = os.open(self._path, os.O_RDWR | os.O_NONBLOCK)

    def fileno(self) -> int:
        """Readable once somebody has asked."""
        return self._fd

    def close(self) -> None:
        """Stop listening; call it before the lock of the directory is released."""
        self._path.unlink(missing_ok=True)
        os.close(self._fd)


def ask_to_release(directory: Path) -> bool:
    """Ask the process that keeps the store open to close it; False if no process listens."""
    try:
        fd = os.open(directory / _PIPE, os.O_WRONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno == errno.ENXIO:  # the listener was killed
            return False
        raise
    with suppress(BlockingIOError):  # the pipe is full of requests
        os.write(fd, b".")
    os.close(fd)
    return True


def release_all(
    directories: Iterable[Path], *, timeout_s: float, clock: Clock = SYSTEM_CLOCK
) -> list[Path]:
    """Have those of these stores closed that are kept open; returns those that still are."""
    deadline = clock.monotonic() + timeout_s
    kept = [each for each in directories if ask_to_release(each)]
    while kept and clock.monotonic() < deadline:
        clock.sleep(_LOOK_S)
        # Between its last answer and the release of the lock, the holder closes the store.
        kept = [each for each in kept if ask_to_release(each) or holder_of(each) is not None]
    return kept
