"""A table of a service, for threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, TypeVar

from lastword.client.calls.reads import Reads
from lastword.client.calls.walking import Pair, walk
from lastword.client.calls.watching import ChangeReader
from lastword.client.calls.writes import Writes
from lastword.client.forms import Forms
from lastword.client.http.messages import HttpResponse, Repeat
from lastword.client.http.pool import BlockingStream, ConnectionPool
from lastword.client.http.pools import Pools
from lastword.client.plan_routes import PlanRoutes
from lastword.client.problems import error_of
from lastword.client.remote_past import RemotePast
from lastword.client.remote_queries import RemoteQueries
from lastword.client.remote_scan import RemoteScan
from lastword.client.remote_watch import RemoteWatch
from lastword.client.retrying import Patience, answered
from lastword.client.routed_steps import routed
from lastword.client.steps import Exchange, Steps, run
from lastword.durations import Duration
from lastword.records import Absent, Position, Version
from lastword.snapshots.travel.moments import Moment
from lastword.table.entry import Entry
from lastword.table.writing.conditions import TOMBSTONE, Conditions, Consistency, IfVersion
from lastword.writer.outcome import Outcome

T = TypeVar("T")
_ABSENT = object()


class RemoteTable:
    """The reads and writes of a ``Table``, answered by a service. Safe to use from any thread.

    Nothing is kept here but a few connections. Requests about a key of a partitioned table go
    straight to the owner of the key, where that is possible. The differences to a ``Table``:
    entries have no record headers; a scan is consistent page by page; values are the JSON's values,
    unless the codec is ``string``, ``int64``, ``bytes`` or given by ``value=``.
    """

    def __init__(
        self,
        pools: Pools[ConnectionPool],
        forms: Forms,
        patience: Patience,
    ) -> None:
        self.name = forms.info.name
        self.topic = forms.info.topic
        self._pools = pools
        self._forms = forms
        self._patience = patience
        self._routes = PlanRoutes(pools.base.address, self.name, patience.clock)
        self._reads = Reads(forms, patience)
        self._writes = Writes(forms, patience, self._reads, self._routes)

    def close(self) -> None:
        """Close the connections; idempotent. Watches are closed separately."""
        self._pools.close()

    def __enter__(self) -> RemoteTable:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<RemoteTable {self.name} at {self._pools.base.address.origin}>"

    def __bool__(self) -> bool:
        return True  # also for an empty table: `if table` must not count its keys

    # -- reading ---------------------------------------------------------------------------

    @property
    def query(self) -> RemoteQueries:
        """The reads below, each with how current it is and who answered."""
        return RemoteQueries(self._reads, self._run)

    def get(
        self,
        key: Any,
        default: Any = None,
        *,
        at: Moment | None = None,
        consistency: Consistency = "local",
    ) -> Any:
        """The value of ``key``, or ``default``; or the one it had ``at`` a past moment.

        With ``consistency="linearizable"`` the owner of the partition answers: it sees every write
        that was acknowledged before, to any process.
        """
        if at is None and consistency == "local":
            return self._run(self._reads.value(key, default))
        entry = self.entry(key, at=at, consistency=consistency)
        return default if entry is None else entry.value

    def entry(
        self, key: Any, *, at: Moment | None = None, consistency: Consistency = "local"
    ) -> Entry | None:
        """The value with its version and timestamp, or None."""
        return self._run(self._reads.entry(key, at, consistency))

    def get_many(self, keys: Iterable[Any]) -> dict[Any, Any]:
        """The values of those keys that exist; up to 1000 keys are read as of one moment."""
        return {entry.key: entry.value for entry in self._run(self._reads.entries(keys))}

    def __getitem__(self, key: Any) -> Any:
        value = self.get(key, _ABSENT)
        if value is _ABSENT:
            raise KeyError(key)
        return value

    def __contains__(self, key: Any) -> bool:
        return self.get(key, _ABSENT) is not _ABSENT

    def __len__(self) -> int:
        return self.query.count().value

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self.items())

    def items(self, *, reverse: bool = False) -> RemoteScan[Pair]:
        """Every key and value in key order."""
        return self.range(reverse=reverse)

    def range(
        self, start: Any = None, end: Any = None, *, reverse: bool = False
    ) -> RemoteScan[Pair]:
        """Keys and values with ``start <= key < end``; None is unbounded."""
        pages = walk(self._reads, start, end, reverse=reverse)
        return RemoteScan(pages, self._run, pages.pairs)

    def prefix(self, prefix: Any, *, reverse: bool = False) -> RemoteScan[Pair]:
        """Keys that begin with ``prefix``, and their values."""
        pages = walk(self._reads, prefix=prefix, reverse=reverse)
        return RemoteScan(pages, self._run, pages.pairs)

    def as_of(self, moment: Moment) -> RemotePast:
        """The table as it was: at a time (milliseconds or a datetime), a position, or a version.

        Answered exactly, or refused with MomentGoneError.
        """
        return RemotePast(self._reads, self._run, moment)

    def watch(self, start: Position | None = None) -> RemoteWatch:
        """Puts and deletes from now on, or from ``start``; resumes after a broken connection."""
        return RemoteWatch(ChangeReader(self._forms, start), self._stream, self._patience.clock)

    # -- writing -----------------------------------------------------------------------------

    def put(
        self,
        key: Any,
        value: Any,
        *,
        ttl: Duration | None = None,
        if_version: IfVersion = None,
    ) -> Version:
        """Write a value; with ``if_version`` only if the key has that version, or is ABSENT.

        The write is acknowledged by the cluster and readable at the service when it returns. Raises
        IndeterminateError if the answer was lost; only a write with a condition is sent again.
        """
        return self._run(self._writes.put(key, value, ttl, if_version))

    def delete(self, key: Any, *, if_version: IfVersion = None) -> Version:
        """Write a tombstone, whether the key exists or not."""
        return self._run(self._writes.put(key, TOMBSTONE, None, if_version))

    def put_many(
        self,
        items: Mapping[Any, Any] | Iterable[tuple[Any, Any]],
        *,
        ttl: Duration | None = None,
        if_version: Conditions = None,
    ) -> list[Outcome]:
        """Write many records, TOMBSTONE as a value deletes; one outcome per record."""
        return self._run(self._writes.put_many(items, ttl, if_version))

    def update(
        self, key: Any, function: Callable[[Any], Any], *, default: Any = None
    ) -> Entry | None:
        """Replace the value by ``function(value)``, so that no concurrent write is lost.

        The function gets ``default`` if the key is absent, and returns TOMBSTONE to delete the
        key. It may run several times.
        """
        return self._run(self._writes.update(key, function, default))

    def increment(self, key: Any, by: float = 1) -> Entry:
        """Add ``by`` to a number; an absent key counts as 0. Returns the entry written."""
        return self._operate(key, "increment", self._writes.argument(by))

    def merge(self, key: Any, patch: Mapping[str, Any]) -> Entry:
        """Merge ``patch`` into an object (RFC 7396: None removes a member); returns the entry."""
        return self._operate(key, "merge", self._writes.argument(dict(patch)))

    def append(self, key: Any, item: Any) -> Entry:
        """Add ``item`` to a list; an absent key counts as an empty one. Returns the entry."""
        return self._operate(key, "append", self._writes.argument(item))

    def put_if_greater(self, key: Any, value: Any) -> Entry:
        """Write ``value`` if it is greater than the current one; returns the current entry."""
        document = self._forms.document(value)
        return self._operate(key, "put-if-greater", document, Repeat.FREELY)

    def transact(
        self,
        items: Mapping[Any, Any],
        *,
        if_version: Mapping[Any, Version | Absent] | None = None,
    ) -> dict[Any, Version]:
        """Write several keys of one partition, all or none; TOMBSTONE as a value deletes.

        ``if_version`` has conditions, also on keys that are not written.
        """
        return self._run(self._writes.transact(items, if_version or {}))

    # -- the wire ----------------------------------------------------------------------------

    def _operate(
        self, key: Any, operation: str, argument: bytes, repeat: Repeat = Repeat.NEVER
    ) -> Entry:
        return self._run(self._writes.operate(key, operation, argument, repeat))

    def _run(self, steps: Steps[T]) -> T:
        return run(routed(steps, self._routes), self._exchange, self._patience.clock.sleep)

    def _exchange(self, step: Exchange) -> HttpResponse:
        return self._pools.of(step.address).exchange(step.request, self._patience.until(step))

    def _stream(self, changes: ChangeReader) -> BlockingStream:
        def opened(step: Exchange) -> BlockingStream:
            return self._pools.base.open_stream(step.request, step.deadline)

        steps = answered(changes.request(), self._patience)
        response = run(steps, opened, self._patience.clock.sleep)
        if not isinstance(response, BlockingStream) or response.status != 200:
            raise error_of(response)
        return response
