"""A child process of a test that talks in lines: to be asked, frozen and killed.

The child reads lines from its standard input and answers with lines of JSON.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from lastword.testing import wait_until

ROOT = Path(__file__).parent.parent.parent


class ChildProcess:
    """``python -m module arguments``, from the start to its end."""

    def __init__(self, module: str, *arguments: str) -> None:
        self.lines: list[Any] = []
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    @property
    def ended(self) -> bool:
        """Whether everything it will ever say is in ``lines``."""
        return not self._reading.is_alive()

    def tell(self, line: str) -> None:
        """Write a line to it."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def freeze(self) -> None:
        """Stop it (SIGSTOP); returns when it has stopped."""
        self._process.send_signal(signal.SIGSTOP)
        status = Path(f"/proc/{self._process.pid}/stat")
        wait_until(lambda: status.read_text().rpartition(") ")[2][0] == "T", "a frozen process")

    def go_on(self) -> None:
        """Resume it (SIGCONT)."""
        self._process.send_signal(signal.SIGCONT)

    def leave(self, timeout_s: float = 180.0) -> int:
        """End its input, which makes it end in order; its exit status."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        status = self._process.wait(timeout_s)
        self._reading.join(180)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return status

    def kill(self) -> None:
        """End it as a crash would (SIGKILL); does nothing when it has ended."""
        self._process.kill()
        self._process.wait(180)
        self._reading.join(180)
        assert self.ended
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            # The last line of a killed process may be cut.
            if line.endswith("\n"):
                self.lines.append(json.loads(line))
