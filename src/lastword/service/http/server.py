"""Runs the service: Granian on an event loop of its own, in a thread of this process."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

import uvloop

from lastword.broker.info import NodeInfo
from lastword.cdc.postgres.capture_monitor import CaptureMonitor
from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.errors import ServiceError
from lastword.metrics import Metrics
from lastword.service.api.context import Context
from lastword.service.api.served import Mount, ServedTable, check_mounts
from lastword.service.cluster.announcement import Announcement
from lastword.service.http.app import build_app
from lastword.service.http.auth import Access, Authenticator
from lastword.service.http.listener import Listener, bind
from lastword.service.http.service_config import ServiceConfig
from lastword.service.http.tokens import TokenFile
from lastword.service.observe.background import keep
from lastword.service.observe.compaction_state import LocalBrokers
from lastword.table.table_state import TableState

log = logging.getLogger(__name__)

_START_S = 30.0
_STOP_S = 30.0
_KNOCK_S = 0.01


def _no_brokers(_cluster_id: str) -> Sequence[NodeInfo]:
    return ()


class Service:
    """Serves tables over HTTP until it is stopped.

    Tables that were not started are started here, and closed again by ``stop``. The port answers
    when ``start`` returns; the tables may still be restoring (see ``/ready``). ``metrics`` are
    further figures of this process for ``/metrics``; ``captures`` are shown, with their figures,
    as long as their owner keeps them running.

    >>> with Service(config, [Mount(users, "/users")]) as service:  # doctest: +SKIP
    ...     print(service.url)
    """

    def __init__(
        self,
        config: ServiceConfig,
        mounts: Sequence[Mount],
        *,
        local_brokers: LocalBrokers = _no_brokers,
        metrics: Sequence[Metrics] = (),
        captures: Sequence[CaptureMonitor] = (),
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        check_mounts(mounts)
        self._config = config
        self._mounts = mounts
        self._local_brokers = local_brokers
        self._metrics = metrics
        self._captures = captures
        self._clock = clock
        self._tokens = TokenFile(config.tokens_file, clock)
        config.check(has_token=bool(self._tokens.tokens()))
        self._started: list[Mount] = []
        self._announcement: Announcement | None = None
        self._context: Context | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._bound: socket.socket | None = None
        self._server: Listener | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Where it is served."""
        return self._config.url

    def start(self) -> None:
        """Start the tables and listen; raises what is wrong with a table or the port."""
        self._bound = bind(self._config)
        try:
            for mount in self._mounts:
                if mount.table.state is TableState.CREATED:
                    self._started.append(mount)
                    mount.table.start()
            tables = {mount.table.name: ServedTable(mount) for mount in self._mounts}
            announcement = Announcement(self._config, [mount.table for mount in self._mounts])
            reached_as = (*self._config.allowed_hosts, *announcement.hosts)
            config = replace(self._config, allowed_hosts=reached_as)
            self._context = Context(
                config,
                tables,
                self._clock,
                self._local_brokers,
                others=self._metrics,
                captures=self._captures,
            )
            self._thread = threading.Thread(
                target=self._run, args=(self._context, self._bound), name="service", daemon=True
            )
            self._thread.start()
            self._await_listening()
            self._announcement = announcement
            announcement.begin()
        except BaseException:
            self.stop()
            raise
        log.info("serving at %s", self.url)

    def stop(self) -> None:
        """End the watchers, finish open requests, close the tables; idempotent."""
        if self._announcement is not None:
            self._announcement.end()
        thread, self._thread = self._thread, None
        if thread is not None and thread.is_alive() and self._loop is not None:
            asyncio.run_coroutine_threadsafe(self._end(), self._loop)
            thread.join(_STOP_S)
        if self._bound is not None:
            self._bound.close()  # unless Granian took it over
        if self._context is not None:
            self._context.close()
        while self._started:
            self._started.pop().table.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _run(self, context: Context, bound: socket.socket) -> None:
        self._loop = uvloop.new_event_loop()
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve(context, bound))
        finally:
            self._loop.close()

    async def _serve(self, context: Context, bound: socket.socket) -> None:
        anonymous = Access.NONE if self._config.reads_need_token else Access.READ
        auth = Authenticator(self._tokens, anonymous=anonymous, preset=self._config.token)
        self._server = Listener(bound, build_app(context, auth), self._config)
        keeping = asyncio.create_task(keep(context))
        keeping.add_done_callback(_report_failure)
        try:
            await self._server.serve()
        finally:
            keeping.cancel()
            await asyncio.wait((keeping,))

    def _await_listening(self) -> None:
        """Connect until the port accepts: Granian does not report when it listens."""
        deadline = self._clock.monotonic() + _START_S
        while self._thread is not None and self._thread.is_alive():
            try:
                socket.create_connection((self._config.host, self._config.port), 1.0).close()
            except OSError as error:
                if self._clock.monotonic() > deadline:
                    raise ServiceError(f"nothing listens at {self.url}: {error}") from error
                self._clock.sleep(_KNOCK_S)
            else:
                return
        raise ServiceError(
            f"the service at {self.url} ended before it listened", hint="the log says why"
        )

    async def _end(self) -> None:
        if self._context is not None:
            await self._context.end_watches()
        if self._server is not None:
            self._server.stop()  # type: ignore[no-untyped-call]


def _report_failure(keeping: asyncio.Task[None]) -> None:
    """Log why figures are no longer recorded; the service continues."""
    if not keeping.cancelled() and (failure := keeping.exception()) is not None:
        log.error("figures are no longer recorded", exc_info=failure)
