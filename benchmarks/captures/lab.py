"""A database, a Connect worker and captures of its tables, for measurements."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from arena.programs import BENCHMARKS, BUILD

from lastword.cdc.postgres.capture import Capture
from lastword.cdc.postgres.database import PostgresDatabase
from lastword.cdc.postgres.names import SourceTable
from lastword.connect_worker.runtime import ConnectRuntime
from lastword.connect_worker.worker import EmbeddedWorker
from lastword.home import default_home
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection

_STOP_S = 120
_COLUMNS = (
    "id bigint PRIMARY KEY, customer text, state text, total numeric(12,2), placed timestamptz, "
    "due date, paid boolean, items int, weight double precision, note jsonb"
)
ROW = (
    "i, 'customer-' || i % 10000, 'placed', i % 1000 + 0.25, now(), current_date, i % 2 = 0, "
    'i % 7, i / 3.0, \'{"channel": "web"}\''
)
"""The ten columns of the row ``i``, as SQL."""


@dataclass(frozen=True)
class CaptureLab:
    """What captures need."""

    url: str
    worker: EmbeddedWorker
    connection: Connection
    directory: Path

    def fill(self, name: str, rows: int) -> None:
        """A table with ``rows`` rows."""
        with psycopg.connect(self.url, autocommit=True) as database:
            database.execute(f"CREATE TABLE {name} ({_COLUMNS})".encode())
            insert = f"INSERT INTO {name} SELECT {ROW} FROM generate_series(1, {rows}) i"  # noqa: S608
            database.execute(insert.encode())
            database.execute(f"ANALYZE {name}".encode())

    @contextmanager
    def captured(self, name: str) -> Iterator[SourceTable]:
        """The connector of one table, from its start to its removal; the topics stay."""
        capture = Capture(
            SourceTable.parse(name),
            PostgresDatabase(self.url),
            self.worker.client,
            secrets=self.worker.info.secrets,
        )
        with Admin(self.connection) as admin:
            capture.start(admin)
        try:
            yield capture.table
        finally:
            capture.remove()

    @contextmanager
    def mirrored(self, name: str, mode: str) -> Iterator[int]:
        """The pipeline in a process of its own, once it runs; gives the process's id.

        The topic of the change events need not be there.
        """
        table = SourceTable.parse(name)
        with Admin(self.connection) as admin:
            if table.topic not in admin.topics():
                settings = {"cleanup.policy": "delete"}
                admin.create(table.topic, partitions=1, replication=1, settings=settings)
        command = [sys.executable, "-m", "captures.run_mirror", self.connection.bootstrap_servers]
        command += [table.connector, table.topic, table.name, str(self.directory), mode]
        with subprocess.Popen(command, cwd=BENCHMARKS, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None  # noqa: S101 - a pipe was asked for
            if not process.stdout.readline():
                raise SystemExit("the driver of the pipeline ended")
            try:
                yield process.pid
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(_STOP_S)


@contextmanager
def capture_lab(servers: str) -> Iterator[CaptureLab]:
    """A PostgreSQL and a Connect worker, gone afterwards."""
    sys.path.append(str(BENCHMARKS.parent))
    from tests.support.captures.postgres import running_postgres  # noqa: PLC0415 - not on the path before

    directory = BUILD / "cdc"
    shutil.rmtree(directory, ignore_errors=True)
    connection = Connection(bootstrap_servers=servers)
    runtime = ConnectRuntime.prepare(default_home(), os.environ)
    worker = EmbeddedWorker(directory / "connect", runtime, connection)
    try:
        with running_postgres() as postgres, worker:
            yield CaptureLab(postgres.url, worker, connection, directory / "state")
    finally:
        shutil.rmtree(directory, ignore_errors=True)
