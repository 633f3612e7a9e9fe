"""Instances of ``lastword serve`` that share one partitioned table, to be asked and killed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

from arena.programs import BUILD
from lastword.jvm.ports import free_ports
from lastword.service import TokenFile

MOUNT = "/users"
_READY_S = 120.0
_SECRET = "a secret of the instances of a benchmark"  # noqa: S105 - on this machine only
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class SharedService:
    """One instance in a process of its own."""

    def __init__(self, servers: str, topic: str, name: str) -> None:
        self.name = name
        self.address = f"http://127.0.0.1:{free_ports(1)[0]}"
        self._home = BUILD / "shared" / f"{topic}-{name}"
        shutil.rmtree(self._home, ignore_errors=True)
        self._home.mkdir(parents=True)
        (self._home / "lastword.toml").write_text(
            f'application_id = "{topic}"\n'
            f'[connection]\nbootstrap_servers = "{servers}"\n'
            f"[service]\nport = {self.address.rpartition(':')[2]}\n"
            f'[cluster]\ninstance_id = "{name}"\nsecret = "{_SECRET}"\n'
            f'[tables.users]\ntopic = "{topic}"\nmount = "{MOUNT}"\nstore = "memory"\n'
            'layout = "partitioned"\nstandbys = 1\nwrites = "owned"\n'
        )
        tokens = TokenFile(self._home / "service" / "tokens.json")
        self.token = tokens.create("bench", {"*": "admin"})
        self.start()

    @property
    def url(self) -> str:
        """The address of the table."""
        return self.address + MOUNT

    def start(self) -> None:
        """Start the process; returns before it is ready."""
        command = [str(Path(sys.executable).with_name("lastword")), "serve"]
        with (self._home / "output.txt").open("ab") as output:
            self._process = subprocess.Popen(
                command,
                cwd=self._home,
                env=os.environ | {"LASTWORD_HOME": str(self._home)},
                stdout=output,
                stderr=output,
            )

    def kill(self) -> None:
        """As a crash would end it."""
        self._process.kill()
        self._process.wait()

    def cluster(self) -> dict[str, Any] | None:
        """The cluster as this instance sees it; None while it does not answer."""
        request = urllib.request.Request(  # noqa: S310 - an http address of this module
            f"{self.address}/cluster", headers={"Authorization": f"Bearer {self.token}"}
        )
        try:
            with _OPENER.open(request, timeout=5) as answer:
                found: dict[str, Any] = json.load(answer)["clusters"][0]
                return found
        except (OSError, IndexError):
            return None


def wait_until_shared(services: list[SharedService]) -> list[str]:
    """Wait until every copy is level and nothing moves; the owner of each partition."""
    names = sorted(service.name for service in services)
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline:
        seen = [service.cluster() for service in services]
        if all(each is not None and _is_settled(each, names) for each in seen):
            partitions = seen[0]["tables"][0]["partitions"]  # type: ignore[index]
            return [each["copies"][0]["instance"] for each in partitions]
        time.sleep(0.1)
    raise SystemExit(f"the instances {', '.join(names)} did not settle in {_READY_S:.0f} s")


def _is_settled(cluster: dict[str, Any], names: list[str]) -> bool:
    members = cluster["members"]
    if [each["instance"] for each in members] != names or any(each["warms_up"] for each in members):
        return False
    owned = [each["owns"] for each in members]
    copies = [each["copies"] for each in cluster["tables"][0]["partitions"]]
    level = all(copy["lag"] == 0 for kept in copies for copy in kept)
    whole = all(len(kept) == min(2, len(names)) for kept in copies)
    return level and whole and max(owned) - min(owned) <= 1
