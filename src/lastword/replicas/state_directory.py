"""Where persistent stores live on this machine, one process at a time.

<state-dir>/<application-id>/<table>/<partition>/.lock     who has it
<state-dir>/<application-id>/<table>/<partition>/store/    the store's own files
"""

from __future__ import annotations

import fcntl
import os
import re
import socket
from pathlib import Path
from typing import IO

import msgspec

from lastword.clock import Clock
from lastword.errors import ConfigError, StoreLockedError
from lastword.private_files import make_private, make_private_directory

LOCK_FILE = ".lock"
STORE_DIRECTORY = "store"
_SAFE_NAME = re.compile(r"[A-Za-z0-9._-]+")


class LockHolder(msgspec.Struct, frozen=True):
    """Who holds a partition's directory."""

    pid: int
    host: str
    since_ms: int


class StateDirectory:
    """The directory of one table; locks each partition it hands out until ``release``."""

    def __init__(self, root: Path, application_id: str, table: str, clock: Clock) -> None:
        for name in (application_id, table):
            if not _SAFE_NAME.fullmatch(name) or set(name) == {"."}:
                raise ConfigError(
                    f"{name!r} cannot name a directory",
                    hint="use letters, digits, '.', '_' and '-'",
                )
        self.path = root / application_id / table
        self._clock = clock
        self._locks: dict[int, IO[bytes]] = {}

    def acquire(self, partition: int) -> Path:
        """Lock a partition and return where its store lives; raises StoreLockedError."""
        directory = self.path / str(partition)
        make_private_directory(directory)
        lock = (directory / LOCK_FILE).open("a+b")
        make_private(lock.fileno())  # a process that can open it can lock it
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise _locked(directory) from None
        holder = LockHolder(os.getpid(), socket.gethostname(), self._clock.now_ms())
        lock.truncate(0)
        lock.write(msgspec.json.encode(holder))
        lock.flush()
        self._locks[partition] = lock
        return self.store_path(partition)

    def store_path(self, partition: int) -> Path:
        """Where the store of a partition lives; ``acquire`` locks it."""
        return self.path / str(partition) / STORE_DIRECTORY

    def release(self, partition: int | None = None) -> None:
        """Let go of a partition, or of every one; idempotent."""
        for each in [*self._locks] if partition is None else [partition]:
            lock = self._locks.pop(each, None)
            if lock is not None:
                lock.close()


def holder_of(partition_directory: Path) -> LockHolder | None:
    """The holder of the directory, or None."""
    path = partition_directory / LOCK_FILE
    if not path.exists():
        return None
    with path.open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _read_holder(lock.read())
    return None


def _read_holder(content: bytes) -> LockHolder | None:
    try:
        return msgspec.json.decode(content, type=LockHolder)
    except msgspec.DecodeError:
        return LockHolder(0, "unknown", 0)


def _locked(directory: Path) -> StoreLockedError:
    holder = holder_of(directory)
    who = f"process {holder.pid} on {holder.host}" if holder else "another process"
    return StoreLockedError(
        f"{directory} is in use by {who}",
        hint="stop that process, or give this one its own --state-dir or application id",
    )
