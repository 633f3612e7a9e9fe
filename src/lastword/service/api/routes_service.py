"""Operations of the service itself: health, readiness, metrics and the OpenAPI document."""

from __future__ import annotations

from lastword import __version__
from lastword.exposition import MEDIA_TYPE
from lastword.service.api.operations import RequestCall
from lastword.service.api.shapes_status import Instance, Instances, ServiceHealth, ServiceReadiness
from lastword.service.cluster.cluster_status import other_instances
from lastword.service.http.answers import JSON, HttpAnswer, body_of, document
from lastword.service.http.auth import Access
from lastword.service.http.tokens import EVERY_TABLE
from lastword.service.observe.prometheus import metrics_text
from lastword.service.observe.table_status import is_ready, readiness


async def health(call: RequestCall) -> HttpAnswer:
    """The process is alive and its event loop runs."""
    return document(ServiceHealth())


async def ready(call: RequestCall) -> HttpAnswer:
    """200 when every table serves reads, else 503; with the progress of tables it may read."""
    context = call.context
    all_ready = all(is_ready(served) for served in context.tables.values())
    tables = [
        readiness(served, context.recorders[name].rate)
        for name, served in context.tables.items()
        if call.caller.access_to(name) >= Access.READ
    ]
    return document(ServiceReadiness(all_ready, tables), status=200 if all_ready else 503)


async def metrics(call: RequestCall) -> HttpAnswer:
    """Every figure of all tables in Prometheus' text format."""
    call.caller.require(Access.READ, EVERY_TABLE)
    text = await call.context.reads.run(metrics_text, call.context)
    return body_of(text.encode(), MEDIA_TYPE)


async def openapi(call: RequestCall) -> HttpAnswer:
    """This interface, described."""
    return body_of(call.context.openapi, JSON)


async def instances(call: RequestCall) -> HttpAnswer:
    """This instance, and the others that share partitions of tables which the caller may read."""
    context = call.context
    readable = [served for name, served in context.tables.items() if call.caller.access_to(name)]
    this = Instance(
        id=context.instance_id,
        url=context.config.url,
        tables=[served.name for served in readable],
        this=True,
        version=__version__,
        started=context.started_ms,
        uptime_seconds=(context.clock.now_ms() - context.started_ms) / 1000,
        watchers=context.watching,
    )
    return document(Instances([this, *other_instances(readable)]))
