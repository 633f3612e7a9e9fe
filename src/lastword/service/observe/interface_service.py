"""The operations of the service itself, rows of the interface."""

from __future__ import annotations

from typing import Any

from lastword.service.api import routes_service, shapes_status
from lastword.service.api.operations import Content, Operation
from lastword.service.captures.interface_captures import CAPTURES
from lastword.service.cluster.interface_cluster import CLUSTER
from lastword.service.http.auth import Access

SERVICE_OPERATIONS = (
    Operation(
        id="health",
        method="GET",
        path="/health",
        serves="service",
        summary="Whether the process is alive",
        access=Access.NONE,
        handler=routes_service.health,
        answer=Content("it does", shapes_status.ServiceHealth),
    ),
    Operation(
        id="ready",
        method="GET",
        path="/ready",
        serves="service",
        summary="Whether every table serves reads",
        access=Access.NONE,
        handler=routes_service.ready,
        answer=Content("every table does", shapes_status.ServiceReadiness),
        also={503: Content("not every table does yet", shapes_status.ServiceReadiness)},
    ),
    Operation(
        id="metrics",
        method="GET",
        path="/metrics",
        serves="service",
        summary="Every figure, for Prometheus",
        access=Access.READ,
        handler=routes_service.metrics,
        answer=Content("Prometheus' text format", str, "text/plain"),
        problems=(503,),
    ),
    Operation(
        id="openapi",
        method="GET",
        path="/openapi.json",
        serves="service",
        summary="This document",
        access=Access.READ,
        handler=routes_service.openapi,
        answer=Content("the document", dict[str, Any]),
    ),
    Operation(
        id="instances",
        method="GET",
        path="/instances",
        serves="service",
        summary="This instance, and the others that share partitions of its tables",
        access=Access.READ,
        handler=routes_service.instances,
        answer=Content("the instances", shapes_status.Instances),
    ),
    CLUSTER,
    CAPTURES,
)
