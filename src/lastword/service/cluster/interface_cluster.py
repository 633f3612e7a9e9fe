"""The operation that shows the cluster, a row of the interface."""

from __future__ import annotations

from lastword.service.api.operations import Content, Operation
from lastword.service.cluster.routes_cluster import get_cluster
from lastword.service.cluster.shapes_cluster import Clusters
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
