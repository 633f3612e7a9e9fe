"""Unpacks a verified archive beside it, once."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

from lastword.errors import JavaError
from lastword.jvm.file_lock import locked

_LOCK_TIMEOUT_SECONDS = 10 * 60


def unpacked(archive: Path) -> Path:
    """The directory with what is in the ``tar.gz``; several processes may ask at once."""
    directory = archive.with_name(archive.name.removesuffix(".tar.gz"))
    if directory.is_dir():
        return directory
    try:
        with locked(archive.with_name(f"{directory.name}.lock"), _LOCK_TIMEOUT_SECONDS):
            if not directory.is_dir():  # no other process has done it
                _unpack(archive, directory)
    except TimeoutError as error:
        raise JavaError(
            f"another process has been unpacking {archive.name} for too long",
            hint=f"Stop it and try again: {error}",
        ) from error
    return directory


def _unpack(archive: Path, directory: Path) -> None:
    """Unpack everything, or leave nothing under the final name."""
    work = directory.with_name(f"{directory.name}.unpacking")
    shutil.rmtree(work, ignore_errors=True)
    try:
        with tarfile.open(archive) as files:
            files.extractall(work, filter="data")
        work.rename(directory)
    except (OSError, tarfile.TarError) as error:
        shutil.rmtree(work, ignore_errors=True)
        raise JavaError(
            f"{archive} cannot be unpacked: {error}", hint="Check the space on the disk."
        ) from error
