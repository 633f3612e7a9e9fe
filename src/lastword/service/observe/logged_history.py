"""The records of one key that are still in the log: older values and deletes."""

from __future__ import annotations

from collections import deque

from msgspec import UNSET, Raw

from lastword.clock import Clock
from lastword.records import Record, Version
from lastword.service.api.served import ServedTable
from lastword.service.api.shapes import JSON_NULL
from lastword.service.api.shapes_status import LoggedHistory, LoggedRecord
from lastword.service.http.leaving import Stopping

_CONNECT_S = 5.0


def read_history(
    served: ServedTable,
    key: bytes,
    limit: int,
    *,
    time_limit_s: float,
    clock: Clock,
    stopping: Stopping,
) -> LoggedHistory:
    """Read the key's partition from its start to its end as of now, or until time is up."""
    partition = served.raw.keyspace.partition_of(key)
    start, end = served.raw.readable_log(partition)
    deadline = clock.monotonic() + time_limit_s
    found: deque[Record] = deque(maxlen=limit)
    reached = start
    ranges = {partition: (start, end)}
    batches = served.raw.log_source.read(
        served.table.topic,
        ranges,
        stall_timeout_s=max(time_limit_s, _CONNECT_S),
        stopping=stopping,
    )
    for batch in batches:
        found.extend(batch.records_of(key))
        reached = batch.next_offset
        if clock.monotonic() >= deadline:
            batches.close()
            break
    else:
        reached = end
    return LoggedHistory(
        records=[_shown(served, record) for record in found],
        complete=reached >= end,
        partition=partition,
        searched_from=start,
        searched_to=reached,
    )


def _shown(served: ServedTable, record: Record) -> LoggedRecord:
    version = Version(record.partition, record.offset)
    shown = LoggedRecord(
        version=str(version),
        timestamp=record.timestamp_ms,
        tombstone=record.value is None,
        value=JSON_NULL,
    )
    if record.value is not None:
        value, raw_value, error = served.shown_bytes(record.value, record.headers)
        shown.value = JSON_NULL if value is None else Raw(value)
        shown.raw_value = UNSET if raw_value is None else raw_value
        shown.error = UNSET if error is None else error
    return shown
