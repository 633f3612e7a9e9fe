"""A running ``lastword up``, what it prints, and everything it started."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lastword.jvm import ports

LASTWORD = str(Path(sys.executable).with_name("lastword"))
TIMEOUT_S = 180.0
# A shell without job control starts background jobs so that they ignore SIGINT.
AS_IN_THE_BACKGROUND = ("bash", "-c", 'trap "" INT; exec "$@"', "bash")


class Up:
    """A running ``lastword up --json``, or a command that stays like it, and what it prints."""

    def __init__(
        self, home: Path, *arguments: str, command: Sequence[str] = ("up",), **environ: str
    ) -> None:
        (service_port,) = ports.free_ports(1)
        self.service = f"http://127.0.0.1:{service_port}"
        self.environ = {
            **os.environ,
            "LASTWORD_HOME": str(home),
            "LASTWORD_SERVICE_PORT": str(service_port),
            **environ,
        }
        # Not a pipe: nobody reads it before the end, and it may be a lot.
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - closed by close()
        self.process = subprocess.Popen(
            [*AS_IN_THE_BACKGROUND, LASTWORD, *command, "--json", *arguments],
            env=self.environ,
            cwd=home,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self.printed: list[str] = []
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.printed.append(line)
            self._lines.put(line)

    def next_object(self) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=TIMEOUT_S)
        except queue.Empty:
            printed = "".join(self.printed) + self.problems()
            raise AssertionError(f"nothing came after this:\n{printed}") from None
        found: dict[str, Any] = json.loads(line)
        return found

    def next_with(self, name: str) -> dict[str, Any]:
        """The next object that has this field; what is printed between may come in any order."""
        while name not in (found := self.next_object()):
            pass
        return found

    def next_batch(self) -> dict[str, Any]:
        """The next report of a pipeline that has processed records."""
        while not (found := self.next_with("sources"))["records"]:
            pass
        return {name: found[name] for name in ("sources", "records", "updates")}

    def is_gone(self) -> bool:
        """Whether no process that it started, directly or not, is left."""
        return not self.processes()

    def processes(self) -> list[int]:
        """It and all that it started, directly or not: its environment is theirs."""
        mark = f"LASTWORD_SERVICE_PORT={self.environ['LASTWORD_SERVICE_PORT']}".encode()
        every = Path("/proc").glob("[0-9]*")
        return [int(path.name) for path in every if mark in _environment_of(path)]

    def run(self, *arguments: str) -> str:
        command = [LASTWORD, *arguments]
        return subprocess.run(
            command, env=self.environ, capture_output=True, text=True, check=True, timeout=TIMEOUT_S
        ).stdout

    def stop(self, number: int) -> tuple[int, str]:
        self.process.send_signal(number)
        status = self.process.wait(TIMEOUT_S)
        self._reader.join(TIMEOUT_S)
        return status, self.problems()

    def problems(self) -> str:
        """What it has written to standard error."""
        self._errors.seek(0)
        return self._errors.read()

    def close(self) -> None:
        self.process.kill()
        self.process.wait(TIMEOUT_S)
        self._reader.join(TIMEOUT_S)
        self._errors.close()
        if self.process.stdout is not None:
            self.process.stdout.close()


def _environment_of(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""  # ended meanwhile
