"""What every handler may use: the tables, the threads, the limits."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable, Mapping, Sequence

from lastword.cdc.postgres.capture_monitor import CaptureMonitor
from lastword.clock import Clock
from lastword.metrics import Metrics
from lastword.service.api.owned_requests import OwnedRequests
from lastword.service.api.served import ServedTable
from lastword.service.http.body_deadlines import BodyDeadlines
from lastword.service.http.limits import Limits
from lastword.service.http.pool import Pool
from lastword.service.http.problems import RefusedError
from lastword.service.http.service_config import ServiceConfig
from lastword.service.observe.compaction_state import CompactionState, LocalBrokers
from lastword.service.observe.figure_recorder import Recorder
from lastword.service.observe.past_states import PastStates
from lastword.service.observe.schema_state import SchemaState
from lastword.service.watch.backlog import Backlog
from lastword.service.watch.fanout import Fanout
from lastword.service.watch.watcher import Watcher

_READ_THREADS = 4
_WRITE_THREADS = 32
_LOG_THREADS = 2
_COMPACTION_THREADS = 2
_REPLAYS_MAX = 8
_GOODBYE_S = 2.0
_POLL_S = 0.01


class Context:
    """One running service.

    Each kind of work has its own threads. A cluster that does not answer blocks writes for their
    whole timeout, a pass over a log takes seconds, and neither may block other work.
    """

    def __init__(
        self,
        config: ServiceConfig,
        tables: Mapping[str, ServedTable],
        clock: Clock,
        local_brokers: LocalBrokers,
        *,
        others: Sequence[Metrics] = (),
        captures: Sequence[CaptureMonitor] = (),
    ) -> None:
        self.config = config
        self.tables = tables
        self.clock = clock
        self.metrics = Metrics()
        self.others = (*others, *(each.metrics for each in captures))
        self.captures = captures
        self.instance_id = _instance_id(tables.values())
        self.started_ms = clock.now_ms()
        waiting = config.limits.waiting_calls
        self.reads = Pool("reads", _READ_THREADS, waiting)
        self.writes = Pool("writes", _WRITE_THREADS, waiting)
        self.log_reads = Pool("log", _LOG_THREADS, waiting)
        # One thread: a past state takes much memory, so one is read at a time.
        self.past_reads = Pool("past", 1, waiting)
        self.compaction_pool = Pool("compaction", _COMPACTION_THREADS, waiting)
        self.replay_reads = Pool("replays", _REPLAYS_MAX, waiting)
        self.past_states = PastStates(config.limits, self.past_reads, clock)
        self.watching = 0
        # Each replay has a Kafka client of its own: a hundred at once would be too many.
        self.replays = asyncio.Semaphore(_REPLAYS_MAX)
        self.backlog = Backlog(config.limits.watchers_backlog_bytes)
        self.openapi = b""
        self.compactions = {
            name: CompactionState(served, local_brokers, clock) for name, served in tables.items()
        }
        self.recorders = {
            name: Recorder(served, self.compactions[name], clock) for name, served in tables.items()
        }
        self.schemas = {name: SchemaState(served, clock) for name, served in tables.items()}
        self.owned_requests = OwnedRequests()
        self.body_deadlines = BodyDeadlines(config.limits.arrival_s)
        self._fanouts: dict[str, Fanout] = {}

    @property
    def limits(self) -> Limits:
        """How much one client may take."""
        return self.config.limits

    @property
    def pools(self) -> tuple[Pool, ...]:
        """The threads of each kind of work."""
        return (
            self.reads,
            self.writes,
            self.log_reads,
            self.past_reads,
            self.compaction_pool,
            self.replay_reads,
        )

    def table(self, name: str) -> ServedTable:
        """The table of that name."""
        served = self.tables.get(name)
        if served is None:
            raise RefusedError(
                404,
                "TableNotFound",
                "there is no such table here",
                hint="GET /tables lists them",
            )
        return served

    def fanout(self, served: ServedTable) -> Fanout:
        """Where the watchers of a table join; on the event loop only."""
        fanout = self._fanouts.get(served.name)
        if fanout is None:
            fanout = Fanout(served, self.reads, self.backlog, self.clock)
            self._fanouts[served.name] = fanout
        return fanout

    def watchers_of(self, served: ServedTable) -> int:
        """How many watch a table now."""
        fanout = self._fanouts.get(served.name)
        return 0 if fanout is None else len(fanout)

    def begin_watch(self) -> Watcher:
        """A new watcher, which counts until ``end_watch``; RefusedError when there are too many."""
        if self.watching >= self.limits.watchers:
            raise RefusedError(
                503,
                "TooManyWatchers",
                f"there are {self.watching} watchers already",
                hint="try again later",
            )
        self.watching += 1
        return self.backlog.watcher()

    def end_watch(self, watcher: Watcher) -> None:
        """The watcher is gone, and so is its connection."""
        self.backlog.remove(watcher)
        self.watching -= 1

    async def end_watches(self) -> None:
        """Tell every watcher to reconnect elsewhere, and wait a moment until that is sent."""
        reason = RefusedError(
            503, "ServiceStopping", "this instance is stopping", hint="resume at another one"
        )
        for fanout in self._fanouts.values():
            fanout.break_off(reason)
        deadline = self.clock.monotonic() + _GOODBYE_S
        while self.clock.monotonic() < deadline:
            if all(fanout.at_rest for fanout in self._fanouts.values()):
                return
            await asyncio.sleep(_POLL_S)

    def close(self) -> None:
        """Free the threads."""
        for pool in self.pools:
            pool.close()


def _instance_id(tables: Iterable[ServedTable]) -> str:
    """The name among the instances that share a table; a random one if none is shared."""
    joined = (served.table.cluster for served in tables)
    names = (cluster.instance_id for cluster in joined if cluster is not None)
    return next(names, secrets.token_hex(4))
