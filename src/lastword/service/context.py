"""What every handler may use: the tables, the threads, the limits."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence

from lastword.broker.info import NodeInfo
from lastword.clock import Clock
from lastword.metrics import Metrics
from lastword.service.config import ServiceConfig
from lastword.service.limits import Limits
from lastword.service.pool import Pool
from lastword.service.problems import RefusedError
from lastword.service.served import ServedTable

LocalBrokers = Callable[[], Sequence[NodeInfo]]

_READ_THREADS = 4
_WRITE_THREADS = 32
_LOG_THREADS = 2


class Context:
    """One running service.

    Reads, writes and passes over the log have threads of their own: a cluster that does not
    answer holds up writes for their whole timeout, and must hold up nothing else.
    """

    def __init__(
        self,
        config: ServiceConfig,
        tables: Mapping[str, ServedTable],
        clock: Clock,
        local_brokers: LocalBrokers,
    ) -> None:
        self.config = config
        self.tables = tables
        self.clock = clock
        self.local_brokers = local_brokers
        self.metrics = Metrics()
        self.instance_id = secrets.token_hex(4)
        self.started_ms = clock.now_ms()
        waiting = config.limits.waiting_calls
        self.reads = Pool("reads", _READ_THREADS, waiting)
        self.writes = Pool("writes", _WRITE_THREADS, waiting)
        self.log_passes = Pool("log", _LOG_THREADS, _LOG_THREADS)

    @property
    def limits(self) -> Limits:
        """How much one client may take."""
        return self.config.limits

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

    def close(self) -> None:
        """Give the threads back."""
        for pool in (self.reads, self.writes, self.log_passes):
            pool.close()
