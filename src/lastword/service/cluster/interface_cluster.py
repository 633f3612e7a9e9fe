"""The operations that show the cluster, rows of the interface."""

from __future__ import annotations

from lastword.service.api.operations import Content, Operation
from lastword.service.cluster.routes_cluster import get_cluster, get_owners
from lastword.service.cluster.shapes_cluster import Clusters, TableOwners
from lastword.service.http.auth import Access

CLUSTER = Operation(
    id="get_cluster",
    method="GET",
    path="/cluster",
    serves="service",
    summary="The instances that share partitions, who keeps which, and what moved",
    access=Access.READ,
    handler=get_cluster,
    answer=Content("one cluster for each application id; none if no table is shared", Clusters),
    problems=(503,),
)

OWNERS = Operation(
    id="get_owners",
    method="GET",
    path="/tables/{table}/owners",
    serves="every table",
    summary="Where the owner of each partition serves the table, for clients",
    access=Access.READ,
    handler=get_owners,
    answer=Content("the owners by the last plan; none if the table has no owners", TableOwners),
    problems=(404,),
)
