"""The compaction of one table's topic, as last read; read again when it is old.

Asking the cluster takes milliseconds; counting what the log holds takes a pass over it. So the
first is repeated every few seconds while a client asks. The second is done rarely, never twice at
once, and automatically only for small logs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from lastword.broker.info import NodeInfo
from lastword.clock import Clock
from lastword.service.api.served import ServedTable
from lastword.service.api.shapes_status import (
    CleanerStatus,
    Compaction,
    CompactionReason,
    LastClean,
    LogContents,
    PartitionCompactionStatus,
)
from lastword.service.http.leaving import Stopping, client_left
from lastword.service.http.problems import RefusedError
from lastword.topics import diagnosis
from lastword.topics.compaction import CleanerState, PartitionCompaction, compaction
from lastword.topics.survey import Survey, survey_topic

LocalBrokers = Callable[[str], Sequence[NodeInfo]]
"""(cluster id) -> the brokers of that cluster that run on this machine."""

OBSERVE_AGAIN_S = 5.0
SURVEY_AGAIN_S = 30.0
# A survey of a log takes at most this part of the time.
_SURVEY_SHARE = 0.05
_WANTED_S = 60.0
_SURVEY_WAIT_S = 60.0
_POLL_S = 0.5
_SURVEYED_BYTES_MAX = 256 << 20

SETTINGS = (
    "cleanup.policy",
    "delete.retention.ms",
    "max.compaction.lag.ms",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "segment.bytes",
    "segment.ms",
)


@dataclass(frozen=True)
class _Surveyed:
    survey: Survey
    at_ms: int
    took_s: float


class CompactionState:
    """One table's topic. Safe to use from any thread; every call may ask the cluster."""

    def __init__(self, served: ServedTable, local_brokers: LocalBrokers, clock: Clock) -> None:
        self._served = served
        self._local_brokers = local_brokers
        self._clock = clock
        self._observing = threading.Lock()
        self._surveying = threading.Lock()
        self._surveyed: _Surveyed | None = None
        self._last: Compaction | None = None
        self._refresh_at = 0.0
        self.wanted_until = 0.0

    def want(self) -> None:
        """Note that a client asks: for a while, records are counted automatically."""
        self.wanted_until = self._clock.monotonic() + _WANTED_S

    def current(self) -> Compaction:
        """At most a few seconds old."""
        with self._observing:
            if self._last is None or self._clock.monotonic() >= self._refresh_at:
                return self._refresh()
            return self._last

    def _refresh(self) -> Compaction:
        self._last = self._observe()
        self._refresh_at = self._clock.monotonic() + OBSERVE_AGAIN_S
        return self._last

    def last(self) -> Compaction | None:
        """The last known state; sends no request."""
        return self._last

    def survey_is_due(self) -> bool:
        """Whether the records should be counted again, and the log is small enough."""
        if self._surveying.locked() or not self._last:
            return False
        if sum(each.size_bytes or 0 for each in self._last.partitions) > _SURVEYED_BYTES_MAX:
            return False
        if self._surveyed is None:
            return True
        age_s = (self._clock.now_ms() - self._surveyed.at_ms) / 1000
        return age_s >= max(SURVEY_AGAIN_S, self._surveyed.took_s / _SURVEY_SHARE)

    def survey(self, stopping: Stopping = lambda: False) -> Compaction:
        """Count what the log holds; one pass at a time, so this may have to wait for another."""
        give_up_at = self._clock.monotonic() + _SURVEY_WAIT_S
        while not self._surveying.acquire(timeout=_POLL_S):
            if self._clock.monotonic() > give_up_at:
                raise RefusedError(503, "Busy", "the log is being counted", hint="try again later")
            _raise_if(stopping)
        try:
            started_s = self._clock.monotonic()
            at_ms = self._clock.now_ms()
            raw = self._served.raw
            found = survey_topic(
                raw.admin,
                raw.log_source,
                self._served.table.topic,
                lambda _done, _total: _raise_if(stopping),
                key_suffix_bytes=raw.keyspace.suffix_bytes,
            )
            self._surveyed = _Surveyed(found, at_ms, self._clock.monotonic() - started_s)
        finally:
            self._surveying.release()
        with self._observing:
            return self._refresh()

    def _observe(self) -> Compaction:
        admin, topic = self._served.raw.admin, self._served.table.topic
        nodes = self._local_brokers(admin.cluster_id())
        surveyed = self._surveyed
        found = compaction(
            admin,
            topic,
            local_nodes=nodes,
            survey=None if surveyed is None else surveyed.survey,
            clock=self._clock,
        )
        reasons = diagnosis.diagnose_topic(
            admin, topic, found, local_nodes=nodes, clock=self._clock
        )
        settings = admin.settings(topic)
        return Compaction(
            topic=topic,
            observed=self._clock.now_ms(),
            surveyed=None if surveyed is None else surveyed.at_ms,
            survey_running=self._surveying.locked(),
            settings=_of_interest(settings),
            partitions=[_shown(each, reasons) for each in found],
        )


def _raise_if(stopping: Stopping) -> None:
    if stopping():
        raise client_left()


def _of_interest(settings: Mapping[str, str]) -> dict[str, str]:
    return {name: settings[name] for name in SETTINGS if name in settings}


def _shown(
    found: PartitionCompaction, reasons: list[diagnosis.Reason]
) -> PartitionCompactionStatus:
    return PartitionCompactionStatus(
        partition=found.partition,
        leader=found.leader,
        log_start=found.log_start,
        log_end=found.log_end,
        stable_end=found.stable_end,
        size_bytes=found.size_bytes,
        contents=None if found.contents is None else LogContents(**asdict(found.contents)),
        cleaner=None if found.cleaner is None else _cleaner(found.cleaner),
        reasons=[
            CompactionReason(reason.cause, reason.evidence, reason.remedy)
            for reason in reasons
            if reason.partition == found.partition
        ],
    )


def _cleaner(state: CleanerState) -> CleanerStatus:
    waiting = [
        segment.first_timestamp_ms
        for segment, after in zip(state.files.segments, state.files.segments[1:], strict=False)
        if after.base_offset > state.now.first_dirty_offset
    ]
    run = state.last_run
    return CleanerStatus(
        cleaned_until=state.files.cleaned_until,
        segments=state.segments,
        **asdict(state.now),
        oldest_dirty=min(waiting, default=None),
        last_run=None
        if run is None
        else LastClean(
            ended=run.ended_ms,
            dirty_from=run.dirty_from,
            dirty_until=run.dirty_until,
            records_before=run.records_before,
            records_after=run.records_after,
            recopy_percent=run.recopy_percent,
        ),
        given_up=state.given_up,
    )
