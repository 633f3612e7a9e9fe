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
visits = app.stream("page-visits", value="json").group_by_key().count("visits")


def main(bootstrap_servers: str, spark: SparkSession | None = None) -> None:
    """Count visits, ask every instance for every page, and again while one of them restarts."""
    cluster = lw.Connection(bootstrap_servers=bootstrap_servers)
    with lw.Admin(cluster) as admin:
        if "page-visits" not in admin.topics():
            settings = {"cleanup.policy": "delete"}
            admin.create("page-visits", partitions=4, replication=1, settings=settings)
    count_visits(cluster, spark)

    with tempfile.TemporaryDirectory() as state:
        # Elsewhere each of them is a process on a machine of its own, such as `lastword serve`.
        tables = {name: instance(cluster, name, Path(state)) for name in INSTANCES}
        for table in tables.values():
            table.start()
        for name, table in tables.items():
            table.wait_ready()
        wait_for_standbys(list(tables.values()))
        for name, table in tables.items():
            print(f"{name} was asked, and these answered: {dict(ask_for_all(table))}")

        restarting = tables.pop("shop-3")
        restarting.close()
        before = dict(tables["shop-1"].items())
        count_visits(cluster, spark)
        counted_at = time.monotonic()
        for table in tables.values():
            for page in PAGES:
                assert visits_of(table, page, counted_at) == before[page] + 1
            print(f"without shop-3, these answered: {dict(ask_for_all(table))}")
        for table in tables.values():
            table.close()


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
    return Counter(table.query.get(page).answered_by[0] for page in PAGES)


def visits_of(table: lw.Table, page: str, since: float) -> int:
    """The visits of a page, from an answer that has everything up to that moment."""
    while True:
        answer = table.query.get(page)
        if answer.value is not None and (answer.staleness_s or 0) < time.monotonic() - since:
            found: int = answer.value.value
            return found


def count_visits(cluster: lw.Connection, spark: SparkSession | None) -> None:
    """One visit of each page, counted by the pipeline."""
    producer = Producer(cluster.librdkafka() | {"partitioner": "murmur2_random"})
    for page in PAGES:
        producer.produce("page-visits", json.dumps({"from": "example"}), page)
    producer.flush(30)
    app.run(spark, once=True, connection=cluster)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "localhost:9092")
