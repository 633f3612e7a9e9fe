"""Background work of the service: it records figures and reads the state of compaction."""

from __future__ import annotations

import asyncio
import logging

from lastword.errors import LastwordError
from lastword.service.api.context import Context
from lastword.service.api.served import ServedTable
from lastword.service.observe.figure_recorder import INTERVAL_S

log = logging.getLogger(__name__)

_COMPACTION_EVERY = 8


async def keep(context: Context) -> None:
    """Run until cancelled. Reading compaction may take seconds, and delays no figures."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_keep_figures(context))
        tasks.create_task(_keep_compaction(context))


async def _keep_figures(context: Context) -> None:
    while True:
        for served in context.tables.values():
            await _record(context, served)
        await asyncio.sleep(INTERVAL_S)


async def _keep_compaction(context: Context) -> None:
    round_number = 0
    while True:
        for served in context.tables.values():
            if round_number % _COMPACTION_EVERY == 0 or _survey_is_wanted(context, served):
                await _update_compaction(context, served)
        round_number += 1
        await asyncio.sleep(INTERVAL_S)


async def _record(context: Context, served: ServedTable) -> None:
    watchers = context.watchers_of(served)
    try:
        # On a thread: the first count of a RocksDB store walks through it.
        await context.reads.run(context.recorders[served.name].record, watchers)
    except LastwordError as error:
        log.debug("no figures of %s: %s", served.name, error)


def _survey_is_wanted(context: Context, served: ServedTable) -> bool:
    state = context.compactions[served.name]
    return context.clock.monotonic() < state.wanted_until and state.survey_is_due()


async def _update_compaction(context: Context, served: ServedTable) -> None:
    state = context.compactions[served.name]
    try:
        await context.compaction_pool.run(state.current)
        if _survey_is_wanted(context, served):
            await context.compaction_pool.run(state.survey)
    except LastwordError as error:
        log.debug("the compaction of %s is unknown: %s", served.name, error)
