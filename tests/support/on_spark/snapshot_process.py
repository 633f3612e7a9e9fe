"""`lastword snapshot create` in a separate process, to be killed with its JVM."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from lastword.kafka.connection import Connection
from lastword.snapshots.catalog.location import Location
from lastword.testing import wait_until

LIMIT_S = 240.0
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A JVM that is killed after its first job is not worth optimising: half the time."""


@dataclass
class SnapshotProcess:
    """The running command: one snapshot after the other."""

    process: subprocess.Popen[bytes]
    location: Location

    @classmethod
    def start(
        cls, connection: Connection, location: Location, home: Path, *options: str
    ) -> SnapshotProcess:
        command = [str(Path(sys.executable).with_name("lastword")), "snapshot", "create"]
        command += [location.topic, "--location", location.root, "--every", "10ms", *options]
        command += ["--key-codec", "bytes", "--value-codec", "bytes"]
        command += ["--bootstrap-servers", connection.bootstrap_servers]
        process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"LASTWORD_HOME": str(home), "JAVA_TOOL_OPTIONS": SHORT_LIVED},
            # A session of its own: a kill takes the JVM and the workers along, at that moment.
            start_new_session=True,
        )
        return cls(process, location)

    def wait_until_it_writes(self) -> None:
        """Return when there is a file of rows that was not there before."""
        before = self._files()

        def writes() -> bool:
            assert self.process.poll() is None, "the command ended"
            return bool(self._files() - before)

        wait_until(writes, "rows are written", timeout=LIMIT_S, every=0.01)

    def kill(self) -> None:
        """All of it at once; nothing can finish what it is doing."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _files(self) -> set[Path]:
        return set(Path(self.location.root).rglob("*.parquet"))
