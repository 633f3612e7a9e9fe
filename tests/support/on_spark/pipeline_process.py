"""A driver in a separate process, to be killed and paused: counts a topic, one line per batch.

python pipeline_process.py SERVERS APPLICATION_ID SOURCE STATE_DIR HOME RECORDS_PER_BATCH

It starts Spark, and then the pipeline in the mode that is written to its standard input.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from lastword.errors import LastwordError
from lastword.jvm.java import find_java
from lastword.pipelines import BatchReport, Pipeline
from lastword.spark.session import build_session
from tests.support.child_process import ROOT
from tests.support.on_spark.pipelines import Bench

LIMIT_S = 900.0


@dataclass
class DriverProcess:
    """The running script."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls, bench: Bench, home: Path, records_per_batch: int) -> DriverProcess:
        """Returns at once; Spark starts, and waits for ``run``."""
        path = os.pathsep.join((str(ROOT), str(ROOT / "src")))
        command = [sys.executable, str(Path(__file__)), bench.connection.bootstrap_servers]
        command += [f"app-{bench.source}", bench.source, str(bench.directory / "state")]
        command += [str(home), str(records_per_batch)]
        environ = os.environ | {"PYTHONPATH": path}
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ
        )
        # Whoever reads its lines waits without a limit; this is the limit.
        limit = threading.Timer(LIMIT_S, process.kill)
        limit.daemon = True
        limit.start()
        return cls(process)

    def run(self, mode: str = "micro-batch") -> None:
        """Start the pipeline, as soon as Spark is there."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{mode}\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        """End it without a chance to clean up; idempotent."""
        self.process.kill()
        self.process.communicate()

    def wait_for_batches(self, count: int) -> None:
        """Each batch with records is a line on standard output."""
        assert self.process.stdout is not None
        for _ in range(count):
            line = self.process.stdout.readline()
            assert line.startswith("batch"), f"the driver ended: {line}"

    def last_words(self) -> str:
        output, _ = self.process.communicate(timeout=180)
        return output


def main(arguments: list[str]) -> None:
    servers, application_id, source, state_dir, home, records = arguments
    app = Pipeline(
        application_id,
        bootstrap_servers=servers,
        state_dir=state_dir,
        commit_interval=0,
        max_records_per_batch=int(records),
    )
    app.stream(source).group_by_key().count("counts")
    spark = build_session(
        "killed", home=Path(home), java=find_java(os.environ), master="local[2,4]"
    )

    def tell(report: BatchReport) -> None:
        if report.tally.records:
            sys.stdout.write(f"batch of {report.tally.records}\n")
            sys.stdout.flush()

    mode = sys.stdin.readline().strip()
    if not mode:  # nobody needs it any more
        return
    try:
        app.run(spark, mode=mode, on_batch=tell)  # type: ignore[arg-type]
    except LastwordError as error:
        sys.stdout.write(f"{type(error).__name__}: {error}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
