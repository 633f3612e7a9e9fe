"""A contestant: the pipelines of Lastword, several times on one Spark session.

Each round is an application of its own that processes the whole topic. Prints one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import time
from typing import Any

from arena.events import KINDS, WINDOW_MS
from arena.processor_time import used_s
from lastword.home import default_home
from lastword.jvm.java import find_java
from lastword.pipelines import Pipeline, tumbling
from lastword.spark.session import build_session


def main() -> None:
    arguments = _arguments()
    started = time.perf_counter()
    spark = build_session("benchmark", home=default_home(), java=find_java(os.environ))
    session_s = time.perf_counter() - started
    if arguments.follow:
        app = declare(arguments, f"{arguments.application_id}-0")
        signal.signal(signal.SIGTERM, lambda *_: app.stop())
        app.run(spark, mode=arguments.mode)
        spark.stop()
        return
    rounds = []
    for number in range(arguments.rounds):
        app = declare(arguments, f"{arguments.application_id}-{number}")
        started = time.perf_counter()
        app.run(spark, once=True, mode=arguments.mode)
        rounds.append(time.perf_counter() - started)
    answer = {"rounds": rounds, "session_s": session_s, "tree_cpu_s": used_s(os.getpid())}
    spark.stop()
    print(json.dumps(answer | {"ready_at": time.time()}))


def declare(arguments: argparse.Namespace, application_id: str) -> Pipeline:
    """The topology that Pipelines.java has, too."""
    app = Pipeline(
        application_id,
        bootstrap_servers=arguments.bootstrap_servers,
        state_dir=arguments.state_dir,
        commit_interval=arguments.commit_interval,
    )
    # A count looks at no value, in Kafka Streams as here.
    value = "json" if arguments.kind in ("reduce", "deduplicate") else "bytes"
    events = app.stream(arguments.topic, value=value)
    if arguments.kind == "deduplicate":
        events.deduplicate("id", "seen", within="1d").group_by_key().latest("result")
    elif arguments.kind == "reduce":
        events.group_by_key().reduce(add, "result")
    elif arguments.kind == "windowed":
        events.group_by_key().windowed_by(tumbling(WINDOW_MS)).count("result")
    else:
        events.group_by_key().count("result")
    return app


def add(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The new object with the sum of both sequence numbers."""
    return {**new, "seq": old["seq"] + new["seq"]}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--kind", choices=KINDS, required=True)
    parser.add_argument("--application-id", required=True)
    parser.add_argument("--state-dir", required=True)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--commit-interval", default="0s")
    parser.add_argument("--mode", choices=("micro-batch", "real-time"), default="micro-batch")
    parser.add_argument("--follow", action="store_true", help="run until killed, politely")
    return parser.parse_args()


if __name__ == "__main__":
    main()
