"""Runs the command line in this process, against the session's broker."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lastword.broker.embedded import EmbeddedBroker
from lastword.cli.main import lastword as command_line


@dataclass(frozen=True)
class Lastword:
    """``lastword(...)`` runs a command; ``lastword.json(...)`` returns the objects it printed."""

    environ: dict[str, str | None]

    def __call__(self, *arguments: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(command_line, arguments, input=stdin, env=self.environ)

    def ok(self, *arguments: str, stdin: str | None = None) -> str:
        """The standard output of a command that must succeed."""
        answer = self(*arguments, stdin=stdin)
        assert answer.exit_code == 0, answer.output
        return answer.stdout

    def json(self, *arguments: str, stdin: str | None = None) -> list[dict[str, Any]]:
        return [
            json.loads(line) for line in self.ok(*arguments, "--json", stdin=stdin).splitlines()
        ]


@pytest.fixture
def lastword(broker: EmbeddedBroker, tmp_path: Path) -> Lastword:
    """The command line with its own home directory."""
    environ: dict[str, str | None] = {
        "LASTWORD_BOOTSTRAP_SERVERS": broker.bootstrap_servers,
        "LASTWORD_HOME": str(tmp_path / "home"),
    }
    return Lastword(environ)
