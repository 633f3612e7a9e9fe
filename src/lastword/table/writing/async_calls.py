"""The calls of a table that wait, as coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from time import perf_counter_ns
from typing import Any

from lastword.durations import Duration
from lastword.expiry import ttl_ms_of
from lastword.metrics import Metrics
from lastword.records import NO_HEADERS, Absent, Version
from lastword.table.decoder import Decoder
from lastword.table.entry import Entry
from lastword.table.queries import Queries
from lastword.table.raw import AT_LEAST_TIMEOUT_S, RawTable
from lastword.table.writing.conditions import (
    TOMBSTONE,
    Conditions,
    Consistency,
    IfVersion,
    check_consistency,
)
from lastword.table.writing.loop_answers import LoopAnswers
from lastword.table.writing.loop_waits import until_reflected
from lastword.table.writing.owned_writes import OwnedWrites, required_owners
from lastword.table.writing.safe_writes import Function, SafeWrites, conflicts_decoded
from lastword.table.writing.writes import Writes
from lastword.writer.outcome import Outcome
from lastword.writer.owned.decide import Result
from lastword.writer.owned.requests import AnyRequest, Applied, Put, Read


class AsyncCalls:
    """Reads and writes of one table for coroutines: the event loop runs on while they wait.

    Owners answer without a thread per call. Calls that no owner decides run on a thread: plain
    writes unless ``writes="owned"``, ``put_many``, ``update``, and local reads of a partitioned
    table. If a call is cancelled, its write may still be applied.
    """

    def __init__(self, raw: RawTable, decoder: Decoder, metrics: Metrics) -> None:
        self._raw = raw
        self._decoder = decoder
        self._writes = Writes(raw, decoder)
        self._answers: LoopAnswers | None = None
        self._put_latency = metrics.latency("put")
        self._delete_latency = metrics.latency("delete")

    # -- reading ---------------------------------------------------------------------------

    async def get(
        self, key: Any, default: Any = None, *, consistency: Consistency = "local"
    ) -> Any:
        """The value of ``key``, or ``default``, as by ``Table.get``."""
        entry = await self.entry(key, consistency=consistency)
        return default if entry is None else entry.value

    async def entry(self, key: Any, *, consistency: Consistency = "local") -> Entry | None:
        """The value with its version, timestamp and headers, or None."""
        check_consistency(consistency, None)
        raw_key = self._decoder.key.encode(key)
        if consistency == "linearizable":
            owned = self._owned()
            row = owned.row_of(await self._ask(owned, Read(key=raw_key)))
            return SafeWrites(owned, self._decoder).decoded(owned.entry(raw_key, row))
        if self._raw.routes:
            queries = Queries(self._raw, self._decoder)
            return (await asyncio.to_thread(queries.get, key)).value
        wanted = self._raw.unread((self._raw.keyspace.partition_of(raw_key),))
        if wanted.offsets:
            await until_reflected(self._raw, wanted, AT_LEAST_TIMEOUT_S, self._raw.clock)
        # Another write that begins meanwhile must not block the loop.
        return self._raw.at_once.read(raw_key, self._decoder.entry).value

    # -- writing ---------------------------------------------------------------------------

    async def put(
        self, key: Any, value: Any, *, ttl: Duration | None = None, if_version: IfVersion = None
    ) -> Version:
        """Write a value; with ``if_version`` only if the key has that version, or is ABSENT."""
        owned = self._raw.owned
        if owned is None or (if_version is None and not owned.decides_all):
            return await asyncio.to_thread(
                self._writes.put, key, value, NO_HEADERS, None, ttl=ttl, if_version=if_version
            )
        ttl_ms = None if ttl is None else ttl_ms_of(ttl)
        raw_value = None if value is TOMBSTONE else self._decoder.value.encode(value)
        raw_key = self._decoder.key.encode(key)
        return await self._put(owned, owned.put_request(raw_key, raw_value, ttl_ms, if_version))

    async def delete(self, key: Any, *, if_version: IfVersion = None) -> Version:
        """Write a tombstone, whether the key exists or not."""
        return await self.put(key, TOMBSTONE, if_version=if_version)

    async def put_many(
        self,
        items: Mapping[Any, Any] | Iterable[tuple[Any, Any]],
        *,
        ttl: Duration | None = None,
        if_version: Conditions = None,
    ) -> list[Outcome]:
        """Write many records, TOMBSTONE as a value deletes; one outcome per record."""
        return await asyncio.to_thread(self._writes.put_many, items, ttl=ttl, if_version=if_version)

    async def update(self, key: Any, function: Function, *, default: Any = None) -> Entry | None:
        """Replace the value by ``function(value)``, so that no concurrent write is lost."""
        safe = SafeWrites(self._owned(), self._decoder)
        return await asyncio.to_thread(safe.update, key, function, default)

    async def increment(self, key: Any, by: float = 1) -> Entry:
        """Add ``by`` to a number; an absent key counts as 0. Returns the entry written."""
        return await self._operate(key, "increment", by)

    async def merge(self, key: Any, patch: Mapping[str, Any]) -> Entry:
        """Merge ``patch`` into an object (RFC 7396: None removes a member); returns the entry."""
        return await self._operate(key, "merge", dict(patch))

    async def append(self, key: Any, item: Any) -> Entry:
        """Add ``item`` to a list; an absent key counts as an empty one. Returns the entry."""
        return await self._operate(key, "append", item)

    async def put_if_greater(self, key: Any, value: Any) -> Entry:
        """Write ``value`` if it is greater than the current one; returns the current entry."""
        return await self._operate(key, "put_if_greater", value)

    async def transact(
        self, items: Mapping[Any, Any], *, if_version: Mapping[Any, Version | Absent] | None = None
    ) -> dict[Any, Version]:
        """Write several keys of one partition, all or none; TOMBSTONE as a value deletes."""
        owned = self._owned()
        safe = SafeWrites(owned, self._decoder)
        answer = await self._ask(owned, safe.transaction(items, if_version or {}))
        return safe.transacted(items, answer)

    # -- internals -------------------------------------------------------------------------

    async def _put(self, owned: OwnedWrites, request: Put) -> Version:
        self._raw.admit_write(request.key)
        latency = self._delete_latency if request.value is None else self._put_latency
        started_ns = perf_counter_ns()
        answer = await self._ask(owned, request)
        if not isinstance(answer, Applied):
            with conflicts_decoded(self._decoder):
                owned.row_of(answer)
            raise RuntimeError(f"a put cannot be answered with {answer!r}")
        latency.observe_ns(perf_counter_ns() - started_ns)
        return answer.version

    async def _operate(self, key: Any, operation: str, argument: Any) -> Entry:
        owned = self._owned()
        safe = SafeWrites(owned, self._decoder)
        request = safe.operation(key, operation, argument)
        return safe.operated(request, await self._ask(owned, request))

    def _ask(self, owned: OwnedWrites, request: AnyRequest) -> asyncio.Future[Result]:
        loop = asyncio.get_running_loop()
        answers = self._answers
        if answers is None or answers.loop is not loop:
            # Requests of another loop keep the one that they were asked by.
            answers = self._answers = LoopAnswers(owned)
        return answers.ask(request)

    def _owned(self) -> OwnedWrites:
        return required_owners(self._raw.owned, self._raw.topic)
