"""How much of the processors a process and everything below it has used."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def used_s(root: int) -> float:
    """Seconds so far: of the process, of its descendants, and of those they have waited for."""
    found: dict[int, tuple[int, float]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            found[int(path.parent.name)] = (int(fields[1]), sum(map(int, fields[11:15])) / _TICKS)
    return sum(seconds for pid, (_, seconds) in found.items() if _is_below(pid, root, found))


def _is_below(pid: int, root: int, found: dict[int, tuple[int, float]]) -> bool:
    while pid != root and pid in found:
        pid = found[pid][0]
    return pid == root
