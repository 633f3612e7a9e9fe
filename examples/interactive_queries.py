"""Interactive queries: the state of a pipeline, answered by any of three instances.

The pipeline counts visits by page into a changelog. The instances share that changelog as a
partitioned table: each partition has an owner and a standby. While one instance restarts, nothing
moves, and the standbys of its partitions answer.

Run it with a broker at hand (``make up``): python examples/interactive_queries.py [HOST:PORT]
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import Producer

import lastword as lw
from lastword.errors import LastwordError
from lastword.pipelines import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGES = [f"/products/{number}" for number in range(20)]
INSTANCES = ("shop-1", "shop-2", "shop-3")

app = Pipeline("shop")
visits = app.stream("page-views", value="json").group_by_key().count("visits")


def main(bootstrap_servers: str, spark: SparkSession | None = None) -> None:
    """Count visits, ask every instance for every page, and again while one of them restarts."""
    cluster = lw.Connection(bootstrap_servers=bootstrap_servers)
    with lw.Admin(cluster) as admin:
        if "page-views" not in admin.topics():
            settings = {"cleanup.policy": "delete"}
            admin.create("page-views", partitions=4, replication=1, settings=settings)
    count_visits(cluster, spark)

    with tempfile.TemporaryDirectory() as state, ExitStack() as running:
        # Elsewhere each of them is a process on a machine of its own, such as `lastword serve`.
        tables = {name: instance(cluster, name, Path(state)) for name in INSTANCES}
        for table in tables.values():
            running.callback(table.close)
            table.start()
        for table in tables.values():
            table.wait_ready()
        wait_for_standbys(list(tables.values()))
        for name, table in tables.items():
            print(f"{name} was asked, and these answered: {dict(ask_for_all(table))}")

        everything = dict(tables["shop-1"].items())
        assert sorted(everything) == sorted(PAGES)
        tables.pop("shop-3").close()
        for name, table in tables.items():
            print(f"{name} was asked without shop-3: {dict(ask_for_all(table))}")
            assert dict(table.items()) == everything


def instance(cluster: lw.Connection, name: str, state: Path) -> lw.Table:
    """One instance that serves the state of the pipeline; it announces its restarts."""
    return lw.Table(
        visits.topic,
        connection=cluster,
        value=visits.value,
        application_id="shop-queries",
        instance_id=name,
        state_dir=state / name,
        layout="partitioned",
        standbys=1,
        restart_within="1m",
    )


def wait_for_standbys(tables: list[lw.Table]) -> None:
    """Wait until every page is kept twice, so that one instance can go."""
    deadline = time.monotonic() + 120
    while min(sum(keeps(table, page) for table in tables) for page in PAGES) < 2:
        if time.monotonic() > deadline:
            raise TimeoutError("the standbys have not caught up in two minutes")
        time.sleep(0.1)


def keeps(table: lw.Table, page: str) -> bool:
    """Whether this instance itself has a copy that it can read."""
    try:
        return table.query.within(route=False).get(page).value is not None
    except LastwordError:
        return False


def ask_for_all(table: lw.Table) -> Counter[str]:
    """How many pages each instance has answered for."""
    answers = [table.query.get(page) for page in PAGES]
    oldest_s = max(answer.staleness_s or 0 for answer in answers)
    print(f"everything until {oldest_s:.2f} s ago is in the answers")
    return Counter(answer.answered_by[0] for answer in answers)


def count_visits(cluster: lw.Connection, spark: SparkSession | None) -> None:
    """One visit of each page, counted by the pipeline."""
    producer = Producer(cluster.librdkafka() | {"partitioner": "murmur2_random"})
    for page in PAGES:
        producer.produce("page-views", json.dumps({"from": "example"}), page)
    producer.flush(30)
    app.run(spark, once=True, connection=cluster)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "localhost:9092")
