"""Turns rocksdict's errors, mostly bare exceptions with a text, into StoreErrors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rocksdict import DbClosedError

from lastword.errors import StoreCorruptedError, StoreError, StoreLockedError
from lastword.stores.base import not_open


def store_error(error: Exception, path: Path) -> StoreError:
    """The error to raise instead of ``error``, which came from the database at ``path``."""
    text = str(error).strip()
    # A call that meets `close` in another thread finds the database closed, or borrowed by it.
    if isinstance(error, DbClosedError) or "borrowed" in text:
        return not_open()
    if text.startswith("Corruption"):
        return unreadable(path, text)
    if "/LOCK:" in text:
        return StoreLockedError(
            f"the RocksDB files in {path} are in use: {text}",
            hint="stop the process that holds them, or use another state directory",
        )
    if "No space left" in text:
        return StoreError(f"the disk of {path} is full: {text}", hint="free some space")
    return StoreError(f"RocksDB failed at {path}: {text}", hint=f"its own log is {path / 'LOG'}")


DAMAGED_MARK = "DAMAGED"
"""A file beside the database that records damage; opening may not detect it again."""


def unreadable(path: Path, reason: str) -> StoreCorruptedError:
    """The error for files that are damaged; marks them, so that they are not opened again."""
    (path / DAMAGED_MARK).touch()
    return StoreCorruptedError(
        f"the RocksDB files in {path} cannot be read: {reason}",
        hint="delete the directory; the table rebuilds it from the topic",
    )


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Translate errors of the body; StoreErrors pass unchanged."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        raise store_error(error, path) from error
