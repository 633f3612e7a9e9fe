"""A driver that mirrors a captured table, in a process of its own, to be killed at any moment.

python mirror_process.py SERVERS APPLICATION_ID SOURCE TABLE STATE_DIR HOME TRANSACTIONS MODE
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from lastword.cdc.postgres.names import SourceTable
from lastword.jvm.java import find_java
from lastword.kafka.connection import Connection
from lastword.pipelines import Pipeline
from lastword.spark.session import build_session
from tests.support.child_process import ROOT


def mirror_of(
    connection: Connection, application_id: str, source: str, table: str, transactions: str
) -> Pipeline:
    """The pipeline that the process runs."""
    app = Pipeline(application_id, connection=connection, commit_interval="100ms")
    app.changes(source).to_table(table, transactions=transactions)  # type: ignore[arg-type]
    return app


@dataclass
class MirrorProcess:
    """Starts the script, again and again."""

    connection: Connection
    table: SourceTable
    directory: Path
    home: Path
    transactions: str
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def log_file(self) -> Path:
        return self.directory / "driver.log"

    def create_topics(self) -> None:
        table = self.table
        mirror_of(
            self.connection, table.connector, table.topic, table.name, self.transactions
        ).create_topics()

    def start(self, mode: str) -> None:
        table = self.table
        command = [sys.executable, str(Path(__file__)), self.connection.bootstrap_servers]
        command += [table.connector, table.topic, table.name, str(self.directory / "state")]
        command += [str(self.home), self.transactions, mode]
        path = os.pathsep.join((str(ROOT), str(ROOT / "src")))
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, env=os.environ | {"PYTHONPATH": path}
            )

    def ended(self) -> str | None:
        """What it said before it ended by itself; None while it runs."""
        assert self.process is not None
        if self.process.poll() is None:
            return None
        return self.log_file.read_text(errors="replace")[-4_000:]

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(180)


def main(arguments: list[str]) -> None:
    servers, application_id, source, table, state_dir, home, transactions, mode = arguments
    connection = Connection(bootstrap_servers=servers)
    app = mirror_of(connection, application_id, source, table, transactions)
    spark = build_session(
        application_id, home=Path(home), java=find_java(os.environ), master="local[1,4]"
    )
    app.run(spark, mode=mode, state_dir=state_dir)  # type: ignore[arg-type]


if __name__ == "__main__":
    main(sys.argv[1:])
