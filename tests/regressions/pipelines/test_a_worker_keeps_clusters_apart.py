"""A Spark worker wrote the results of one cluster's pipeline to another cluster.

It kept its transactional writers, and its connection to the group, by the names of the application
alone. A worker that had served an application on one cluster used them for the application of the
same name on the next one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from tests.support.on_spark.pipeline_worker import Worker


@pytest.fixture
def workers(
    connection: Connection, own_broker: EmbeddedBroker, topic_name: str, tmp_path: Path
) -> Iterator[list[Worker]]:
    """One application on two clusters, its tasks run by one process."""
    clusters = [connection, Connection(bootstrap_servers=own_broker.bootstrap_servers)]
    with ExitStack() as opened:
        made: list[Worker] = []
        for number, cluster in enumerate(clusters):
            admin = opened.enter_context(Admin(cluster))
            worker = Worker(cluster, admin, topic_name, tmp_path / str(number))
            opened.callback(worker.move_to_another_process)
            opened.callback(worker.driver_lock.leave)
            made.append(worker)
        yield made


def test_each_cluster_gets_its_own_results(workers: list[Worker]) -> None:
    here, there = workers
    here.run((0, "a"), (1, "a"))

    there.run((0, "b"))
    here.run((2, "a"))

    assert (here.table, here.position) == ({b"a": b"3"}, 3)
    assert (there.table, there.position) == ({b"b": b"1"}, 1)
