"""A table of a service, for coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from functools import cached_property
from types import TracebackType
from typing import Any, TypeVar

from lastword.client.async_queries import AsyncQueries
from lastword.client.async_scan import AsyncScan
from lastword.client.async_watch import AsyncWatch
from lastword.client.calls.reads import Reads, moment_text
from lastword.client.calls.tables import find_table
from lastword.client.calls.walking import Pair, walk
from lastword.client.calls.watching import ChangeReader
from lastword.client.calls.writes import Writes
from lastword.client.forms import Forms
from lastword.client.http.address import Address
from lastword.client.http.async_pool import AsyncConnectionPool, AsyncStream
from lastword.client.http.messages import HttpResponse, Repeat
from lastword.client.http.pools import Pools
from lastword.client.plan_routes import PlanRoutes
from lastword.client.problems import error_of
from lastword.client.retrying import Patience, answered
from lastword.client.routed_steps import routed
from lastword.client.steps import Exchange, Steps, run_async
from lastword.codecs.resolve import CodecSpec
from lastword.durations import Duration
from lastword.errors import TableClosedError
from lastword.records import Absent, Position, Version
from lastword.snapshots.travel.moments import Moment
from lastword.table.entry import Entry
from lastword.table.writing.conditions import TOMBSTONE, Conditions, Consistency, IfVersion
from lastword.writer.outcome import Outcome

T = TypeVar("T")


class AsyncTable:
    """The calls of a ``RemoteTable`` as coroutines, for one event loop.

    ``async with`` opens and closes it. Operators without an asynchronous form are calls: ``count``
    for ``len``, ``contains`` for ``in``. ``range``, ``prefix``, ``items`` and ``watch`` are read
    with ``async for``.
    """

    def __init__(
        self,
        address: Address,
        *,
        codecs: tuple[CodecSpec | None, CodecSpec | None],
        connections: int,
        patience: Patience,
    ) -> None:
        self._address = address
        self._codecs = codecs
        self._connections = connections
        self._patience = patience
        self._opened: Forms | None = None

    async def __aenter__(self) -> AsyncTable:
        try:
            finding = find_table(self._address.path, self._patience)
            info = await run_async(finding, self._exchange, asyncio.sleep)
            self._opened = Forms(info, *self._codecs)
        except BaseException:
            self._pools.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pools.close()
        await asyncio.sleep(0)  # the transports close their sockets in the loop's next turn

    def __repr__(self) -> str:
        return f"<AsyncTable {self._address.path} at {self._address.origin}>"

    # -- reading ---------------------------------------------------------------------------

    @property
    def query(self) -> AsyncQueries:
        """The reads below, each with how current it is and who answered."""
        return AsyncQueries(self._reads, self._run)

    async def get(
        self,
        key: Any,
        default: Any = None,
        *,
        at: Moment | None = None,
        consistency: Consistency = "local",
    ) -> Any:
        """The value of ``key``, or ``default``; or the one it had ``at`` a past moment."""
        if at is None and consistency == "local":
            return await self._run(self._reads.value(key, default))
        entry = await self.entry(key, at=at, consistency=consistency)
        return default if entry is None else entry.value

    async def entry(
        self, key: Any, *, at: Moment | None = None, consistency: Consistency = "local"
    ) -> Entry | None:
        """The value with its version and timestamp, or None."""
        return await self._run(self._reads.entry(key, at, consistency))

    async def get_many(self, keys: Iterable[Any]) -> dict[Any, Any]:
        """The values of those keys that exist; up to 1000 keys are read as of one moment."""
        found = await self._run(self._reads.entries(keys))
        return {entry.key: entry.value for entry in found}

    async def contains(self, key: Any) -> bool:
        """Whether there is such a key."""
        return await self.entry(key) is not None

    async def count(self) -> int:
        """The number of keys."""
        return (await self.query.count()).value

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for pair in self.items():
            yield pair[0]

    def items(self, *, reverse: bool = False, as_of: Moment | None = None) -> AsyncScan[Pair]:
        """Every key and value in key order, now or at a past moment."""
        return self.range(reverse=reverse, as_of=as_of)

    def range(
        self,
        start: Any = None,
        end: Any = None,
        *,
        reverse: bool = False,
        as_of: Moment | None = None,
    ) -> AsyncScan[Pair]:
        """Keys and values with ``start <= key < end``; None is unbounded."""
        moment = None if as_of is None else moment_text(as_of)
        pages = walk(self._reads, start, end, reverse=reverse, as_of=moment)
        return AsyncScan(pages, self._run, pages.pairs)

    def prefix(self, prefix: Any, *, reverse: bool = False) -> AsyncScan[Pair]:
        """Keys that begin with ``prefix``, and their values."""
        pages = walk(self._reads, prefix=prefix, reverse=reverse)
        return AsyncScan(pages, self._run, pages.pairs)

    def watch(self, start: Position | None = None) -> AsyncWatch:
        """Puts and deletes, from where ``async with`` or ``async for`` begins or from ``start``."""
        return AsyncWatch(ChangeReader(self._forms, start), self._stream, self._patience.clock)

    # -- writing -----------------------------------------------------------------------------

    async def put(
        self,
        key: Any,
        value: Any,
        *,
        ttl: Duration | None = None,
        if_version: IfVersion = None,
    ) -> Version:
        """Write a value; with ``if_version`` only if the key has that version, or is ABSENT."""
        return await self._run(self._writes.put(key, value, ttl, if_version))

    async def delete(self, key: Any, *, if_version: IfVersion = None) -> Version:
        """Write a tombstone, whether the key exists or not."""
        return await self._run(self._writes.put(key, TOMBSTONE, None, if_version))

    async def put_many(
        self,
        items: Mapping[Any, Any] | Iterable[tuple[Any, Any]],
        *,
        ttl: Duration | None = None,
        if_version: Conditions = None,
    ) -> list[Outcome]:
        """Write many records, TOMBSTONE as a value deletes; one outcome per record."""
        return await self._run(self._writes.put_many(items, ttl, if_version))

    async def update(
        self, key: Any, function: Callable[[Any], Any], *, default: Any = None
    ) -> Entry | None:
        """Replace the value by ``function(value)``, so that no concurrent write is lost."""
        return await self._run(self._writes.update(key, function, default))

    async def increment(self, key: Any, by: float = 1) -> Entry:
        """Add ``by`` to a number; an absent key counts as 0. Returns the entry written."""
        return await self._operate(key, "increment", self._writes.argument(by))

    async def merge(self, key: Any, patch: Mapping[str, Any]) -> Entry:
        """Merge ``patch`` into an object (RFC 7396: None removes a member); returns the entry."""
        return await self._operate(key, "merge", self._writes.argument(dict(patch)))

    async def append(self, key: Any, item: Any) -> Entry:
        """Add ``item`` to a list; an absent key counts as an empty one. Returns the entry."""
        return await self._operate(key, "append", self._writes.argument(item))

    async def put_if_greater(self, key: Any, value: Any) -> Entry:
        """Write ``value`` if it is greater than the current one; returns the current entry."""
        document = self._forms.document(value)
        return await self._operate(key, "put-if-greater", document, Repeat.FREELY)

    async def transact(
        self,
        items: Mapping[Any, Any],
        *,
        if_version: Mapping[Any, Version | Absent] | None = None,
    ) -> dict[Any, Version]:
        """Write several keys of one partition, all or none; TOMBSTONE as a value deletes."""
        return await self._run(self._writes.transact(items, if_version or {}))

    # -- the wire ----------------------------------------------------------------------------

    @cached_property
    def _pools(self) -> Pools[AsyncConnectionPool]:
        return Pools(AsyncConnectionPool, self._address, self._connections, self._patience.clock)

    @cached_property
    def _routes(self) -> PlanRoutes:
        return PlanRoutes(self._address, self._forms.info.name, self._patience.clock)

    @property
    def _forms(self) -> Forms:
        if self._opened is None:
            raise TableClosedError(
                "this client is not connected", hint="use it inside `async with connect_async(...)`"
            )
        return self._opened

    @cached_property
    def _reads(self) -> Reads:
        return Reads(self._forms, self._patience)

    @cached_property
    def _writes(self) -> Writes:
        return Writes(self._forms, self._patience, self._reads, self._routes)

    async def _operate(
        self, key: Any, operation: str, argument: bytes, repeat: Repeat = Repeat.NEVER
    ) -> Entry:
        return await self._run(self._writes.operate(key, operation, argument, repeat))

    async def _run(self, steps: Steps[T]) -> T:
        return await run_async(routed(steps, self._routes), self._exchange, asyncio.sleep)

    async def _exchange(self, step: Exchange) -> HttpResponse:
        pool = self._pools.of(step.address)
        return await pool.exchange(step.request, self._patience.until(step))

    async def _stream(self, changes: ChangeReader) -> AsyncStream:
        async def opened(step: Exchange) -> AsyncStream:
            return await self._pools.base.open_stream(step.request, step.deadline)

        steps = answered(changes.request(), self._patience)
        response = await run_async(steps, opened, asyncio.sleep)
        if not isinstance(response, AsyncStream) or response.status != 200:
            raise error_of(response)
        return response
