"""The state of a table at one moment, as documents."""

from __future__ import annotations

from lastword.replicas.progress import RestoreProgress, offsets_done
from lastword.service.api.served import ServedTable
from lastword.service.api.shapes_status import (
    PartitionStatus,
    RestoreRate,
    RestoreStatus,
    Rights,
    TableReadiness,
    TableStatus,
    TableSummary,
)
from lastword.service.http.auth import Access
from lastword.service.http.problems import problem_of
from lastword.service.observe.growth_rate import GrowthRate
from lastword.table.partition_view import PartitionView
from lastword.table.table_state import TableState

_RIGHTS: dict[Access, Rights] = {
    Access.READ: "read",
    Access.WRITE: "write",
    Access.ADMIN: "admin",
}


def is_ready(served: ServedTable) -> bool:
    """Whether reads are served; one that routes them serves while it builds another copy."""
    state = served.table.state
    return state is TableState.RUNNING or (served.raw.routes and state is TableState.REBALANCING)


def summary(served: ServedTable, access: Access) -> TableSummary:
    """A table in the list; ``access`` is what the caller may do with it."""
    return TableSummary(
        name=served.name,
        topic=served.table.topic,
        mount=served.path,
        state=served.table.state.value,
        ready=is_ready(served),
        windowed=served.windows is not None,
        key=served.decoder.key.name,
        value=served.decoder.value.name,
        access=_RIGHTS[access],
    )


def readiness(served: ServedTable, rate: GrowthRate) -> TableReadiness:
    """The progress of a table; sends no request, so it can be called every second."""
    return TableReadiness(
        served.name, served.table.state.value, is_ready(served), restore_rate(served, rate)
    )


def restore_rate(served: ServedTable, rate: GrowthRate) -> RestoreRate:
    """All partitions together; the time left by the speed of the last seconds."""
    progress = served.table.progress()
    done, total = offsets_done(progress)
    restored = served.table.state is TableState.RUNNING
    eta_s = 0.0 if restored else rate.seconds_left(total - done)
    return RestoreRate(done, total, eta_s)


def table_status(
    served: ServedTable, access: Access, rate: GrowthRate, watchers: int
) -> TableStatus:
    """Everything; may count the keys of a RocksDB store, so it runs on a thread."""
    error = None if is_ready(served) else served.raw.why_not_ready()
    partitions = [_partition(each) for each in served.table.partitions()]
    short = summary(served, access)
    return TableStatus(
        name=short.name,
        topic=short.topic,
        mount=short.mount,
        state=short.state,
        ready=short.ready,
        windowed=short.windowed,
        access=short.access,
        key=short.key,
        value=short.value,
        on_bad=served.decoder.policy,
        stale=any(each.stale for each in partitions),
        contact_age_seconds=max(each.contact_age_seconds for each in partitions),
        keys=sum(each.keys for each in partitions),
        lag=sum(each.lag for each in partitions),
        lag_seconds=max((each.lag_seconds for each in partitions), default=0.0),
        position=str(served.raw.position()),
        restore=restore_rate(served, rate),
        partitions=partitions,
        foreign=_foreign(served),
        watchers=watchers,
        error=None if error is None else problem_of(error),
    )


def _foreign(served: ServedTable) -> int | None:
    """The records that no owner wrote since the table has been open here."""
    owned = served.raw.owned
    if owned is None or not owned.decides_all:
        return None
    return served.table.metrics.counter("foreign_records_total").value


def _partition(view: PartitionView) -> PartitionStatus:
    return PartitionStatus(
        partition=view.partition,
        position=view.position,
        log_start=view.log_start,
        log_end=view.log_end,
        lag=view.lag,
        lag_seconds=view.lag_s,
        keys=view.keys,
        store_bytes=view.store_bytes,
        ready=view.ready,
        live=view.live,
        stale=view.stale,
        contact_age_seconds=round(view.contact_age_s, 3),
        quarantined=view.quarantined,
        trouble=view.trouble,
        restore=_restore(view.restore),
    )


def _restore(progress: RestoreProgress) -> RestoreStatus:
    return RestoreStatus(
        start=progress.start,
        position=progress.position,
        end=progress.end,
        records=progress.records,
        blocked=progress.blocked,
        sweep_offsets=progress.sweep_offsets,
        swept_offsets=progress.swept_offsets,
        done=progress.done,
    )
