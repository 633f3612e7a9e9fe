"""Operations on tables: list, status, the log of a key, figures and compaction."""

from __future__ import annotations

from msgspec import UNSET

from lastword.service.api.operations import RequestCall
from lastword.service.api.shapes_status import HistoryQuery, LoggedHistory, SeriesQuery, Tables
from lastword.service.http.answers import HttpAnswer, document
from lastword.service.http.auth import Access
from lastword.service.http.leaving import Stopping
from lastword.service.observe.logged_history import read_history
from lastword.service.observe.table_status import summary, table_status


async def list_tables(call: RequestCall) -> HttpAnswer:
    """The tables that the caller may read."""
    rights = [(each, call.caller.access_to(each.name)) for each in call.context.tables.values()]
    return document(
        Tables([summary(each, access) for each, access in rights if access >= Access.READ])
    )


async def get_table(call: RequestCall) -> HttpAnswer:
    """State, partitions, positions, lag and restore progress of one table."""
    context, served = call.context, call.served
    status = await context.reads.run(
        table_status,
        served,
        call.caller.access_to(served.name),
        context.recorders[served.name].rate,
        context.watchers_of(served),
    )
    return document(status)


async def get_history(call: RequestCall) -> HttpAnswer:
    """The records of one key that are still in the log."""
    query: HistoryQuery = call.query
    key = call.served.raw_key(query.key.encode(), query.encoding)
    context = call.context

    def read(stopping: Stopping) -> LoggedHistory:
        return read_history(
            call.served,
            key,
            query.limit,
            time_limit_s=context.limits.history_s,
            clock=context.clock,
            stopping=stopping,
        )

    return document(await call.run_until_left(context.log_reads, read))


async def get_series(call: RequestCall) -> HttpAnswer:
    """A table's figures over the last half hour."""
    query: SeriesQuery = call.query
    recorder = call.context.recorders[call.served.name]
    return document(recorder.series(0 if query.since is UNSET else query.since))


async def get_compaction(call: RequestCall) -> HttpAnswer:
    """The progress of compaction."""
    state = call.context.compactions[call.served.name]
    state.want()
    return document(await call.context.compaction_pool.run(state.current))


async def get_schema(call: RequestCall) -> HttpAnswer:
    """The schema of the values, its versions, and which of them live keys hold."""
    state = call.context.schemas[call.served.name]
    return document(await call.context.compaction_pool.run(state.current))


async def count_schema_versions(call: RequestCall) -> HttpAnswer:
    """Count the live keys by version now; answers when all are counted."""
    state = call.context.schemas[call.served.name]
    return document(await call.run_until_left(call.context.log_reads, state.count))


async def survey(call: RequestCall) -> HttpAnswer:
    """Count the records of the log now; answers when they are counted."""
    state = call.context.compactions[call.served.name]
    return document(await call.run_until_left(call.context.log_reads, state.survey))
