"""The documents about tables and instances, for operators and the dashboard."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from lastword.service.api.shapes import KeyEncoding, VersionText
from lastword.service.http.limits import HISTORY_RECORDS_MAX
from lastword.service.http.problems import Problem

Rights = Literal["read", "write", "admin"]
Unknown = Meta(description="null where it is not known")


class RestoreStatus(Struct):
    """The way to the end of the log that was captured at the start, in offsets."""

    start: int
    position: int
    end: int
    records: Annotated[int, Meta(description="records read on the way")]
    blocked: Annotated[bool, Meta(description="an open transaction keeps the end from being read")]
    sweep_offsets: Annotated[
        int, Meta(description="offsets that a sweep reads again; 0 without a sweep")
    ]
    swept_offsets: Annotated[int, Meta(description="how many of them it has read")]
    done: bool


class PartitionStatus(Struct):
    """One partition of a table."""

    partition: int
    position: Annotated[int, Meta(description="the next offset; reads reflect all before it")]
    log_start: int
    log_end: int
    lag: Annotated[int, Meta(description="offsets that are not read yet")]
    lag_seconds: float
    keys: int
    store_bytes: int
    ready: Annotated[bool, Meta(description="whether reads of this partition are served")]
    live: Annotated[bool, Meta(description="whether the end of the log was reached")]
    stale: Annotated[
        bool, Meta(description="deleted keys may still be here, or the cluster does not answer")
    ]
    contact_age_seconds: Annotated[float, Meta(description="how long ago the cluster answered")]
    quarantined: int
    trouble: Annotated[str | None, Meta(description="why the log is not followed at the moment")]
    restore: RestoreStatus


class RestoreRate(Struct):
    """All partitions of a restore together, in offsets, which are not records."""

    done: int
    total: int
    eta_seconds: Annotated[float | None, Unknown]


class TableSummary(Struct):
    """A table in the list."""

    name: str
    topic: str
    mount: str | None
    state: str
    ready: bool
    windowed: bool
    key: Annotated[str, Meta(description="the codec of keys")]
    value: Annotated[str, Meta(description="the codec of values")]
    access: Annotated[Rights, Meta(description="what the caller may do with it")]


class TableStatus(TableSummary):
    """Everything about a table at one moment."""

    on_bad: str
    stale: bool
    contact_age_seconds: Annotated[float, Meta(description="the highest of all partitions")]
    keys: int
    lag: int
    lag_seconds: float
    position: str
    restore: RestoreRate
    partitions: list[PartitionStatus]
    foreign: Annotated[
        int | None,
        Meta(description="records that no owner wrote; null unless owners decide every write"),
    ]
    watchers: int
    error: Annotated[Problem | None, Meta(description="why it is not ready")]


class Tables(Struct):
    """The tables that the caller may read."""

    tables: list[TableSummary]


class ServiceHealth(Struct):
    """The process answers."""

    status: Literal["alive"] = "alive"


class TableReadiness(Struct):
    """How far one table is."""

    name: str
    state: str
    ready: bool
    restore: RestoreRate


class ServiceReadiness(Struct):
    """Whether every table serves reads."""

    ready: bool
    tables: list[TableReadiness]


class Instance(Struct):
    """A process that serves tables; an instance knows only some of it of another one."""

    id: str
    url: str
    tables: Annotated[list[str], Meta(description="those that are served here, too")]
    this: Annotated[bool, Meta(description="whether it is the one that answers")]
    version: Annotated[str | None, Meta(description="null: only known by that instance")] = None
    started: Annotated[
        int | None, Meta(description="milliseconds since 1970; null: only known by that instance")
    ] = None
    uptime_seconds: Annotated[
        float | None, Meta(description="null: only known by that instance")
    ] = None
    watchers: Annotated[int | None, Meta(description="null: only known by that instance")] = None


class Instances(Struct):
    """The instances that are known here."""

    instances: list[Instance]


class LogContents(Struct):
    """What a pass over the log of a partition counted."""

    records: int
    live_keys: int
    duplicates: Annotated[int, Meta(description="records with a later one of the same key")]
    tombstones: int
    keyless: int
    record_bytes: Annotated[int, Meta(description="keys and values of all records, uncompressed")]
    live_bytes: Annotated[int, Meta(description="those of the current records")]


class LastClean(Struct):
    """The last cleaning in the broker's log."""

    ended: Annotated[int, Meta(description="milliseconds since 1970")]
    dirty_from: int
    dirty_until: int
    records_before: int
    records_after: int
    recopy_percent: float


class CleanerStatus(Struct):
    """What the cleaner has done and would do next; known of a broker on this machine only."""

    cleaned_until: Annotated[int | None, Meta(description="null if it never ran here")]
    segments: int
    first_dirty_offset: int
    first_uncleanable_offset: int
    limit: str
    clean_bytes: int
    cleanable_bytes: int
    uncleanable_bytes: int
    dirty_ratio: float
    forced: bool
    due: bool
    oldest_dirty: Annotated[
        int | None, Meta(description="timestamp of the oldest record that waits to be cleaned")
    ]
    last_run: LastClean | None
    given_up: bool


class CompactionReason(Struct):
    """Why a partition is not compacted further, and what to do."""

    cause: str
    evidence: str
    remedy: str


class PartitionCompactionStatus(Struct):
    """The progress of compaction in one partition."""

    partition: int
    leader: int | None
    log_start: int
    log_end: int
    stable_end: int
    size_bytes: Annotated[int | None, Unknown]
    contents: Annotated[LogContents | None, Meta(description="null until a survey is done")]
    cleaner: Annotated[CleanerStatus | None, Unknown]
    reasons: list[CompactionReason]


class Compaction(Struct):
    """The progress of compaction in a table's topic."""

    topic: str
    observed: Annotated[int, Meta(description="milliseconds since 1970")]
    surveyed: Annotated[
        int | None, Meta(description="when the records were counted; null when they were not")
    ]
    survey_running: bool
    settings: Annotated[
        dict[str, str], Meta(description="the topic's settings that decide about compaction")
    ]
    partitions: list[PartitionCompactionStatus]


class SeriesQuery(Struct, forbid_unknown_fields=True):
    """From when on."""

    since: Annotated[int, Meta(ge=0, description="milliseconds since 1970")] | UnsetType = UNSET


class Series(Struct):
    """A table's figures over time, one column each; null where a figure was not known."""

    interval_seconds: float
    times: Annotated[list[int], Meta(description="milliseconds since 1970")]
    series: dict[str, list[float | None]]


class HistoryQuery(Struct, forbid_unknown_fields=True):
    """Whose history."""

    key: Annotated[str, Meta(min_length=1)]
    encoding: KeyEncoding = "text"
    limit: Annotated[
        int, Meta(ge=1, le=HISTORY_RECORDS_MAX, description="at most this many, the newest")
    ] = 100


class LoggedRecord(Struct, omit_defaults=True):
    """A record that is still in the log."""

    version: VersionText
    timestamp: int
    tombstone: bool
    value: Raw
    raw_value: Annotated[str, Meta(description="base64")] | UnsetType = UNSET
    error: str | UnsetType = UNSET


class LoggedHistory(Struct):
    """Records of one key in the log, oldest first; the last one is the current one."""

    records: list[LoggedRecord]
    complete: Annotated[bool, Meta(description="false when time ran out before the end")]
    partition: int
    searched_from: int
    searched_to: int
