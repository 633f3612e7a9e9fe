"""The end of a server's log file, and what is written to it from then on."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from lastword.clock import SYSTEM_CLOCK

LINES_SHOWN = 40
_POLL_SECONDS = 0.2


def print_lines(path: Path, lines: int, say: Callable[[str], None], *, follow: bool) -> None:
    """Say the last ``lines`` of them, and with ``follow`` the new ones until Ctrl-C."""
    written = path.read_bytes()
    end = written.rfind(b"\n") + 1  # a line that is being written comes later
    there = deque(written[:end].splitlines(), maxlen=lines)
    try:
        for line in chain(there, _new_lines(path, end) if follow else ()):
            say(line.decode(errors="replace"))
    except KeyboardInterrupt:
        return


def _new_lines(path: Path, start: int) -> Iterator[bytes]:
    """Complete lines from byte ``start`` on, forever; continues in the next file after a roll."""
    while True:
        with path.open("rb") as file:
            file.seek(start)
            while True:
                line = file.readline()
                if line.endswith(b"\n"):
                    start = file.tell()
                    yield line.rstrip(b"\n")
                elif _is_rolled(path, file.fileno()):
                    start = 0
                    break
                else:
                    file.seek(start)
                    SYSTEM_CLOCK.sleep(_POLL_SECONDS)


def _is_rolled(path: Path, fd: int) -> bool:
    try:
        return path.stat().st_ino != os.fstat(fd).st_ino
    except FileNotFoundError:
        return False  # between the old file and the new one
