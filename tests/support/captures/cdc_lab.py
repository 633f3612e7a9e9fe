"""A database, a Connect worker and a broker of their own, to capture tables and to be killed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from lastword.broker.embedded import EmbeddedBroker
from lastword.broker.runtime import KafkaRuntime
from lastword.cdc.postgres.capture import Capture
from lastword.cdc.postgres.database import PostgresDatabase
from lastword.cdc.postgres.names import SourceTable
from lastword.connect_worker.rest import ConnectClient
from lastword.connect_worker.runtime import ConnectRuntime
from lastword.connect_worker.worker import EmbeddedWorker
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.testing.plugin import EAGER
from tests.support.captures.postgres import Postgres, running_postgres

WAIT_S = 240.0
WORD = "abracadabra of the database"
# A crashed broker is let in again once the session of its past life has ended.
_SESSIONS = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}


def start_capture(
    postgres: Postgres,
    worker: EmbeddedWorker,
    connection: Connection,
    name: str,
    *,
    password_reference: str | None = None,
) -> Capture:
    """A capture of ``public.NAME``.

    With a reference, the worker is one of which nothing but its URL is known.
    """
    url = postgres.url.replace("postgres@", f"postgres:{WORD.replace(' ', '%20')}@")
    capture = Capture(
        SourceTable.parse(f"public.{name}"),
        PostgresDatabase(url),
        ConnectClient(worker.url),
        secrets=worker.info.secrets if password_reference is None else None,
        password_reference=password_reference,
    )
    with Admin(connection) as admin:
        capture.start(admin)
    return capture


@contextmanager
def captured(
    postgres: Postgres,
    worker: EmbeddedWorker,
    connection: Connection,
    name: str,
    *,
    password_reference: str | None = None,
) -> Iterator[Capture]:
    """A capture that is removed in the end: the slots of a server are few."""
    parts = postgres, worker, connection, name
    capture = start_capture(*parts, password_reference=password_reference)
    try:
        yield capture
    finally:
        capture.remove()


@dataclass(frozen=True)
class Lab:
    """What a capture needs; everything in it may be killed and started again."""

    postgres: Postgres
    worker: EmbeddedWorker
    broker: EmbeddedBroker
    directory: Path
    home: Path

    @property
    def connection(self) -> Connection:
        return Connection(bootstrap_servers=self.broker.bootstrap_servers)

    def captured(self, name: str) -> AbstractContextManager[Capture]:
        """A capture of ``public.NAME``, removed in the end."""
        return captured(self.postgres, self.worker, self.connection, name)

    def start_capture(self, name: str) -> Capture:
        """A capture of ``public.NAME`` that ends with the database and the worker."""
        return start_capture(self.postgres, self.worker, self.connection, name)


@contextmanager
def running_lab(home: Path, directory: Path) -> Iterator[Lab]:
    """All of it; the worker and the database start side by side."""
    runtime = KafkaRuntime.prepare(home, os.environ)
    broker = EmbeddedBroker(directory / "broker", runtime, settings=EAGER | _SESSIONS)
    broker.start()
    connection = Connection(bootstrap_servers=broker.bootstrap_servers)
    worker = EmbeddedWorker(
        directory / "connect", ConnectRuntime.prepare(home, os.environ), connection
    )
    try:
        with ThreadPoolExecutor(1) as pool:
            starting = pool.submit(worker.start)
            with running_postgres() as postgres:
                starting.result()
                yield Lab(postgres, worker, broker, directory, home)
    finally:
        worker.kill()
        broker.kill()
