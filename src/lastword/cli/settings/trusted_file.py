"""Whether a file in the current directory may be used as the settings file.

Settings name the cluster to send data to, the modules of pipelines and the home of everything. In a
directory that somebody else can write to, such as /tmp, they must not decide that for everybody who
runs a command there. A file that was named (--config, LASTWORD_CONFIG) was chosen.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path

from lastword.errors import ConfigError

_ROOT = 0  # root needs no settings file to do harm


def read_trusted(path: Path) -> bytes:
    """The content of ``path``; ConfigError when another user owns it or could have written it."""
    try:
        # Check what is read: the open file, and the link that may have led to it.
        with path.open("rb") as file:
            found, link = os.fstat(file.fileno()), path.lstat()
            content = file.read()
    except OSError as error:
        raise ConfigError(f"cannot read {path.absolute()}: {error}") from error
    trusted = {os.geteuid(), _ROOT}
    for owner in (found.st_uid, link.st_uid):
        if owner not in trusted:
            raise _refused(path, f"belongs to {_user(owner)}")
    if found.st_mode & stat.S_IWOTH:
        raise _refused(path, "can be written by every user")
    if found.st_mode & stat.S_IWGRP and not _is_own_group(found.st_gid):
        raise _refused(path, "can be written by other users of its group")
    return content


def _refused(path: Path, why: str) -> ConfigError:
    return ConfigError(
        f"{path.absolute()} {why}, so it is not used as your settings file",
        hint=f"to use it anyway: --config {path}; to make it yours: chmod go-w {path}, or chown it",
    )


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def _is_own_group(number: int) -> bool:
    """Whether the group is the user's alone, as many systems make one for each user."""
    try:
        group, user = grp.getgrgid(number), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return group.gr_name == user.pw_name and not set(group.gr_mem) - {user.pw_name}
