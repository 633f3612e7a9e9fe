"""A database, a Connect worker, a cluster and Spark, to run pipelines of captured tables."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psycopg import Connection as PostgresConnection
from psycopg.rows import dict_row
from pyspark.sql import SparkSession

from lastword.cdc.postgres.capture import Capture
from lastword.codecs.row import RowCodec
from lastword.connect_worker.worker import EmbeddedWorker
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.pipelines import Pipeline
from lastword.testing.waiting import wait_until
from tests.support.captures.cdc_lab import WAIT_S, captured
from tests.support.captures.postgres import Postgres
from tests.support.local_tables.tables import read_raw

Rows = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class MirrorLab:
    """What belongs to a capture and its pipeline."""

    postgres: Postgres
    worker: EmbeddedWorker
    connection: Connection
    spark: SparkSession
    state_dir: Path

    def captured(
        self, name: str, password_reference: str | None = None
    ) -> AbstractContextManager[Capture]:
        """A capture of ``public.NAME``, removed in the end."""
        parts = self.postgres, self.worker, self.connection
        return captured(*parts, name, password_reference=password_reference)

    @contextmanager
    def mirrored(self, capture: Capture) -> Iterator[Callable[[], Rows]]:
        """The pipeline of a capture; gives what a reader sees in the table's topic."""
        app = Pipeline(capture.table.connector)
        app.changes(capture.table.topic).to_table(capture.table.name)
        with self.running(app, capture) as check:

            def table() -> Rows:
                check()
                return rows_of(self.connection, capture.table.name)

            yield table

    @contextmanager
    def running(self, app: Pipeline, *captures: Capture) -> Iterator[Callable[[], None]]:
        """A pipeline on a thread; gives what fails if it, or a connector, has failed."""
        app.create_topics(self.connection)
        failed: list[BaseException] = []

        def run() -> None:
            try:
                app.run(
                    self.spark,
                    connection=self.connection,
                    state_dir=self.state_dir,
                    commit_interval="50ms",
                )
            except BaseException as error:  # noqa: BLE001 - shown by the test's own thread
                failed.append(error)

        def check() -> None:
            assert not failed, failed
            for capture in captures:
                failure = capture.failure()
                assert failure is None, failure

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield check
        finally:
            app.stop()
            thread.join(WAIT_S)


def has_topic(connection: Connection, topic: str) -> bool:
    with Admin(connection) as admin:
        return topic in admin.topics()


def rows_of(connection: Connection, topic: str) -> Rows:
    decode, rows = RowCodec().decode, Rows()
    for record in read_raw(connection, topic):
        assert record.key is not None
        if record.value is None:
            rows.pop(record.key.decode(), None)
        else:
            rows[record.key.decode()] = decode(record.value)
    return rows


def selected(database: PostgresConnection[Any], name: str) -> Rows:
    """The table by psycopg, which knows nothing of how it was captured."""
    cursor = database.cursor(row_factory=dict_row)
    cursor.execute(f"SELECT * FROM {name}")  # noqa: S608
    return {str(row["id"]): row for row in cursor}


def equals(
    table: Callable[[], dict[str, Any]], database: PostgresConnection[Any], name: str
) -> None:
    """Row by row and type by type."""
    wait_until(
        lambda: repr(sorted(table().items())) == repr(sorted(selected(database, name).items())),
        f"the table {name} equals SELECT *",
        timeout=WAIT_S,
        every=0.5,
    )
