"""Answers who shares the partitions of the tables that the caller may read."""

from __future__ import annotations

from lastword.service.api.operations import RequestCall
from lastword.service.api.served import ServedTable
from lastword.service.cluster.cluster_status import cluster_status, table_owners
from lastword.service.cluster.shapes_cluster import Clusters
from lastword.service.http.answers import HttpAnswer, document
from lastword.service.http.auth import Access


async def get_cluster(call: RequestCall) -> HttpAnswer:
    """Every cluster; the members are asked for their lags, so it runs on a thread."""
    readable = [
        served
        for name, served in call.context.tables.items()
        if call.caller.access_to(name) >= Access.READ
    ]
    return document(await call.context.reads.run(_clusters, readable))


async def get_owners(call: RequestCall) -> HttpAnswer:
    """Where the owners of a table's partitions are; known here, so nobody is asked."""
    return document(table_owners(call.served))


def _clusters(readable: list[ServedTable]) -> Clusters:
    shared = [(served.table.cluster, served) for served in readable]
    found = {id(cluster): cluster for cluster, _ in shared if cluster is not None}
    return Clusters(
        [
            cluster_status(cluster, [served for its, served in shared if its is cluster])
            for cluster in found.values()
        ]
    )
