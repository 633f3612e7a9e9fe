"""``lastword serve`` in a separate process, and a client for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from lastword.jvm.ports import free_ports
from lastword.service.http.tokens import Scope, TokenFile
from lastword.testing import wait_until

Sections = Mapping[str, Mapping[str, str]]


class ServiceProcess:
    """One instance: started with settings in a file, as an operator would."""

    def __init__(
        self,
        directory: Path,
        bootstrap_servers: str,
        tables: Sections,
        *,
        captures: Sections | None = None,
        port: int = 0,
    ) -> None:
        self.port = port or free_ports(1)[0]
        self.home = directory / "home"
        self._directory = directory
        self._settings = directory / "lastword.toml"
        directory.mkdir(parents=True, exist_ok=True)
        self._settings.write_text(_toml(bootstrap_servers, self.port, tables, captures or {}))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return (self._directory / "output.txt").read_text()

    def token(self, name: str, scopes: Mapping[str, Scope]) -> str:
        return TokenFile(self.home / "service" / "tokens.json").create(name, scopes)

    def client(self, token: str | None = None, **options: Any) -> httpx.Client:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        options = {"timeout": 60.0, "trust_env": False} | options
        return httpx.Client(base_url=self.url, headers=headers, **options)

    def start(self) -> None:
        """Returns when it is ready."""
        self.launch()
        self.wait_ready()

    def launch(self) -> None:
        environment = {"LASTWORD_HOME": str(self.home), "PATH": os.environ["PATH"]}
        with (self._directory / "output.txt").open("ab") as output:
            self._process = subprocess.Popen(
                [Path(sys.executable).with_name("lastword"), "serve", "--config", self._settings],
                env=environment,
                cwd=self._directory,
                stdout=output,
                stderr=output,
            )

    def wait_ready(self) -> None:
        """Returns when what was launched is ready."""
        wait_until(self.is_ready, "a service that is ready", timeout=180, every=0.05)

    def is_ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log
        try:
            return httpx.get(f"{self.url}/ready", timeout=180, trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    def stop(self) -> int:
        """In order; the exit status."""
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        """As a crash would."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> int:
        if self._process is None:
            return 0
        self._process.send_signal(how)
        return self._process.wait(timeout=180)


def _toml(bootstrap_servers: str, port: int, tables: Sections, captures: Sections) -> str:
    lines = ["[connection]", f'bootstrap_servers = "{bootstrap_servers}"']
    lines += ["[service]", f"port = {port}"]
    for kind, sections in (("tables", tables), ("cdc", captures)):
        for name, settings in sections.items():
            lines.append(f"[{kind}.{name}]")
            lines += [f'{key} = "{value}"' for key, value in settings.items()]
    return "\n".join(lines) + "\n"
