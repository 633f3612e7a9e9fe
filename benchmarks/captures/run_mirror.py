"""A contestant: the pipeline that mirrors a captured table, until it is told to end.

python -m captures.run_mirror SERVERS APPLICATION_ID SOURCE TABLE STATE_DIR MODE

Prints a line when it runs.
"""

from __future__ import annotations

import os
import sys

from lastword.cli.support.stop_signals import calling_at_signals
from lastword.home import default_home
from lastword.jvm.java import find_java
from lastword.pipelines import Pipeline, PipelineState
from lastword.spark.session import build_session


def main() -> None:
    servers, application_id, source, table, state_dir, mode = sys.argv[1:]
    app = Pipeline(application_id, bootstrap_servers=servers, state_dir=state_dir)
    app.changes(source).to_table(table)
    app.create_topics()
    spark = build_session(application_id, home=default_home(), java=find_java(os.environ))

    def tell(_: PipelineState, new: PipelineState) -> None:
        if new is PipelineState.RUNNING:
            print("running", flush=True)

    with calling_at_signals(app.stop):
        app.run(spark, mode=mode, on_state=tell)  # type: ignore[arg-type]
    spark.stop()


if __name__ == "__main__":
    main()
