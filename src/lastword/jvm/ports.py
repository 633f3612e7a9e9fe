"""Free ports for servers of this machine, and the process that has a port."""

from __future__ import annotations

import random
import socket
from collections.abc import Collection
from pathlib import Path

from lastword.errors import PortTakenError, ServerProcessError

LOOPBACK = "127.0.0.1"

# Below the range from which the system takes ports for outgoing connections (32768 and up on
# Linux): a server that is restarted must not find its port lent to some client meanwhile.
_LOWEST, _HIGHEST = 20_000, 32_767
_ATTEMPTS = 1000


def free_ports(count: int, *, besides: Collection[int] = ()) -> list[int]:
    """``count`` different free ports that are none of ``besides``.

    They are picked at random, so that parallel runs rarely collide.
    """
    found: set[int] = set()
    for _ in range(_ATTEMPTS):
        if len(found) == count:
            return list(found)
        # Not a secret: a port number only has to differ from those of other runs.
        candidate = random.randint(_LOWEST, _HIGHEST)  # noqa: S311
        if candidate not in besides and is_free(candidate):
            found.add(candidate)
    raise ServerProcessError(f"no {count} free ports between {_LOWEST} and {_HIGHEST}")


def is_free(port: int) -> bool:
    """Whether a server may listen on the loopback ``port`` now."""
    with socket.socket() as probe:
        # As Java does: connections of a former server that are still fading do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def require_free(port: int) -> None:
    """Raise PortTakenError when something listens on ``port``; it names the process if it can."""
    if is_free(port):
        return
    owner = listener_of(port)
    raise PortTakenError(
        f"port {port} is taken" + (f" by {owner}" if owner else " by another program"),
        hint=f"Stop that program, or take another port: --port {free_ports(1)[0]}",
    )


def listener_of(port: int) -> str | None:
    """The process that listens on ``port``, as far as Linux lets us know; None when unknown."""
    if not (inodes := _listening_inodes(port)):
        return None
    wanted = {f"socket:[{inode}]" for inode in inodes}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(str(fd.readlink()) in wanted for fd in (process / "fd").iterdir()):
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ")
                return f"process {process.name} ({command.decode(errors='replace')[:80].strip()})"
        except OSError:
            continue  # it ended, or belongs to another user
    return None


def _listening_inodes(port: int) -> set[str]:
    listening = "0A"
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue  # not Linux
        for line in lines:
            local, state, inode = (line.split()[column] for column in (1, 3, 9))
            if state == listening and int(local.rpartition(":")[2], 16) == port:
                inodes.add(inode)
    return inodes
