"""The writing half of a table, as users call it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lastword.durations import Duration
from lastword.records import NO_HEADERS, Absent, Headers, Version
from lastword.table.entry import Entry
from lastword.table.writing.conditions import TOMBSTONE, Conditions, IfVersion
from lastword.table.writing.locks import DEFAULT_TTL, DEFAULT_WAIT, Lock, Locks
from lastword.table.writing.safe_writes import SafeWrites
from lastword.table.writing.writes import Writes
from lastword.writer.outcome import Outcome


class TableWrites(ABC):
    """Writes that are acknowledged by the cluster and readable here when they return.

    The owner of the key's partition decides conditional writes, and writes that compute a value
    from the current one: open the table with ``writes="owned"`` or ``writes="conditional"``. They
    raise ConflictError if the condition does not hold, NotOwnerError if no owner was found in time,
    and IndeterminateError if the outcome is unknown.
    """

    @property
    @abstractmethod
    def _writes(self) -> Writes: ...

    @property
    @abstractmethod
    def _safe(self) -> SafeWrites: ...

    @property
    @abstractmethod
    def _locks(self) -> Locks: ...

    def put(
        self,
        key: Any,
        value: Any,
        *,
        headers: Headers = NO_HEADERS,
        timestamp_ms: int | None = None,
        ttl: Duration | None = None,
        if_version: IfVersion = None,
    ) -> Version:
        """Write a value; with ``if_version`` only if the key has that version, or is ABSENT.

        With a ``ttl`` such as ``"1h"`` the key reads as absent after that time. Without one, the
        table's own ``ttl`` applies, if it has one.
        """
        return self._writes.put(key, value, headers, timestamp_ms, ttl=ttl, if_version=if_version)

    def delete(
        self,
        key: Any,
        *,
        headers: Headers = NO_HEADERS,
        timestamp_ms: int | None = None,
        if_version: IfVersion = None,
    ) -> Version:
        """Write a tombstone; when it returns, the key is absent here, even if it never existed."""
        return self._writes.put(key, TOMBSTONE, headers, timestamp_ms, if_version=if_version)

    def put_many(
        self,
        items: Mapping[Any, Any] | Iterable[tuple[Any, Any]],
        *,
        ttl: Duration | None = None,
        if_version: Conditions = None,
    ) -> list[Outcome]:
        """Write many records at once; returns one outcome per record. TOMBSTONE deletes.

        ``ttl`` is the time to live of each record, as in ``put``. ``if_version`` maps keys to their
        conditions, or is ABSENT for all keys. Each record is decided separately; ``transact``
        writes all or none.
        """
        return self._writes.put_many(items, ttl=ttl, if_version=if_version)

    def update(
        self, key: Any, function: Callable[[Any], Any], *, default: Any = None
    ) -> Entry | None:
        """Replace the value by ``function(value)``; no concurrent write is lost.

        The function gets ``default`` if the key is absent, and returns TOMBSTONE to delete the
        key. It may run several times, and on another thread: keep it quick, without side effects.
        Returns the entry that was written, None if the key was deleted.
        """
        return self._safe.update(key, function, default)

    def increment(self, key: Any, by: float = 1) -> Entry:
        """Add ``by`` to a number; an absent key counts as 0. Returns the entry written."""
        return self._safe.operate(key, "increment", by)

    def merge(self, key: Any, patch: Mapping[str, Any]) -> Entry:
        """Merge ``patch`` into an object (RFC 7396: None removes a member); returns the entry."""
        return self._safe.operate(key, "merge", dict(patch))

    def append(self, key: Any, item: Any) -> Entry:
        """Add ``item`` to a list; an absent key counts as an empty one. Returns the entry."""
        return self._safe.operate(key, "append", item)

    def put_if_greater(self, key: Any, value: Any) -> Entry:
        """Write ``value`` if it is greater than the current one; returns the current entry."""
        return self._safe.operate(key, "put_if_greater", value)

    def transact(
        self,
        items: Mapping[Any, Any],
        *,
        if_version: Mapping[Any, Version | Absent] | None = None,
    ) -> dict[Any, Version]:
        """Write several keys of one partition atomically; TOMBSTONE as a value deletes.

        ``if_version`` maps keys to conditions; it may name keys that are not written. Raises
        ConfigError if the keys are in more than one partition.
        """
        return self._safe.transact(items, if_version or {})

    def lock(
        self, name: str, *, ttl: Duration = DEFAULT_TTL, wait: Duration = DEFAULT_WAIT
    ) -> Lock:
        """A named lock, for every process that has this topic open with the same application id.

        ``with table.lock("job-42") as token:`` waits at most ``wait`` and then raises
        LeaseHeldError. The lock is renewed in the background; if its holder dies, it is free after
        ``ttl``. Locks are stored in a separate topic: the first lock of a process takes a second or
        two.
        """
        self._safe  # noqa: B018 - raises ConfigError for a table without owners
        return self._locks.lock(name, ttl=ttl, wait=wait)
