"""``lastword cdc`` and ``connect`` in this process; a thread watches and presses Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from lastword.cli.main import lastword


@dataclass
class CdcCommand:
    """Runs commands with a home whose Connect worker is running; keeps all that they print."""

    home: Path
    bootstrap_servers: str
    printed: str = field(default="")

    def __call__(self, *arguments: str, command: str = "cdc") -> Result:
        environ = {
            "LASTWORD_HOME": str(self.home),
            "LASTWORD_BOOTSTRAP_SERVERS": self.bootstrap_servers,
        }
        answer = CliRunner().invoke(lastword, [command, *arguments], env=environ)
        self.printed += answer.output
        return answer

    def json(
        self, *arguments: str, exit_code: int = 0, command: str = "cdc"
    ) -> list[dict[str, Any]]:
        answer = self(*arguments, "--json", command=command)
        assert answer.exit_code == exit_code, answer.output
        return [json.loads(line) for line in answer.stdout.splitlines()]

    def until(
        self, watch: Callable[[], None], *arguments: str, command: str = "cdc"
    ) -> list[dict[str, Any]]:
        """Run a command that stays until Ctrl-C, which comes when ``watch`` returns or raises."""
        raised: list[BaseException] = []

        def press() -> None:
            try:
                watch()
            except BaseException as error:  # noqa: BLE001 - shown by the test's own thread
                raised.append(error)
            os.kill(os.getpid(), signal.SIGINT)

        # One that comes when the command has ended already must not end the tests.
        before = signal.signal(signal.SIGINT, lambda *_: None)
        thread = threading.Thread(target=press)
        thread.start()
        try:
            return self.json(*arguments, command=command)
        finally:
            thread.join()
            signal.signal(signal.SIGINT, before)
            assert not raised, (raised, self.printed)
