"""Writes that depend on the current row, in bytes: conditions, operations, functions, leases.

The owner of a key's partition decides them. A call returns after the acknowledgement; later reads
of the table reflect it, as with every write of a table.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lastword.clock import Clock
from lastword.errors import (
    ConfigError,
    ConflictError,
    LastwordError,
    NotOwnerError,
)
from lastword.keyspace import Keyspace
from lastword.records import ABSENT, NO_HEADERS, Absent, Version
from lastword.rows import headers_and_value_of, offset_of
from lastword.table.entry import RawEntry, raw_entry
from lastword.writer.owned.conflicts import conflict_error
from lastword.writer.owned.decide import Result
from lastword.writer.owned.owned_path import OwnedPath
from lastword.writer.owned.requests import (
    AnyRequest,
    Applied,
    Conflicted,
    Current,
    Expected,
    Operate,
    Put,
    Transact,
    Update,
)
from lastword.writer.owned.tickets import Sink, Ticket
from lastword.writer.owned.value_operations import ValueOperations

RawFunction = Callable[[bytes | None], bytes | None]
"""A key's raw value, None if it is absent -> its next one, None to delete it."""

UPDATE_TRIES = 100
UPDATE_TIMEOUT_S = 30.0
_FIRST_PAUSE_S = 0.002
_LONGEST_PAUSE_S = 0.2


def required_owners(owned: OwnedWrites | None, topic: str) -> OwnedWrites:
    """The writes that owners decide; raises ConfigError where there are none."""
    if owned is None:
        raise ConfigError(
            f"the table of {topic} is written without owners",
            hint="open it with writes='owned', or with writes='conditional'",
        )
    return owned


class OwnedWrites:
    """The conditional writes of one table. Safe to use from any thread.

    ``submit`` is for callers that cannot wait: the answers of a batch come in one call. ``ttl_ms``
    is the table's time to live for values written without one. ``decides_all`` says whether plain
    writes of the table take this path, too.
    """

    def __init__(
        self,
        path: OwnedPath,
        keyspace: Keyspace,
        *,
        operations: ValueOperations,
        reflect: Callable[[Version], None],
        clock: Clock,
        ttl_ms: int | None = None,
        decides_all: bool = False,
    ) -> None:
        self.decides_all = decides_all
        self._path = path
        self._keyspace = keyspace
        self._operations = operations
        self._reflect = reflect
        self._clock = clock
        self._ttl_ms = ttl_ms

    @property
    def owned_partitions(self) -> set[int]:
        """The partitions that this process owns, and has taken over, at the moment."""
        return {p for p, owner in self._path.owners.items() if owner.serving}

    @property
    def waiting(self) -> int:
        """How many requests wait for an owner in this process."""
        return sum(owner.waiting for owner in self._path.owners.values())

    def ask_all(self, requests: Sequence[AnyRequest], timeout_s: float) -> list[Result]:
        """An answer or an error for each request, within that time."""
        return self._path.ask(requests, timeout_s)

    def submit(self, request: AnyRequest, sink: Sink, number: int, timeout_s: float) -> Ticket:
        """Have a request decided without waiting; the sink gets the answer under ``number``.

        An answer that has not arrived a moment after ``timeout_s`` may never arrive;
        ``given_up(ticket)`` returns what is known then. ``LoopAnswers`` does all of this for
        coroutines.
        """
        return self._path.submit(request, sink, number, timeout_s)

    def request(self, key: bytes, operation: str, argument: Any) -> Operate:
        """The request that applies a named operation, for ``submit``."""
        packed = self._operations.argument(operation, argument)
        return Operate(key=key, operation=operation, argument=packed, ttl_ms=self._ttl_ms)

    def put_request(
        self, key: bytes, value: bytes | None, ttl_ms: int | None, expected: Expected
    ) -> Put:
        """The request that writes a value, or a tombstone for None, for ``submit``."""
        given_ms = ttl_ms if ttl_ms is not None or value is None else self._ttl_ms
        return Put(key=key, value=value, expected=expected, ttl_ms=given_ms)

    def transaction(
        self, writes: Mapping[bytes, bytes | None], expected: Mapping[bytes, Version | Absent]
    ) -> Transact:
        """The request that writes several keys, all or none, for ``submit``."""
        return Transact(
            writes=tuple(writes.items()), expected=tuple(expected.items()), ttl_ms=self._ttl_ms
        )

    def get(self, key: bytes) -> RawEntry | None:
        """The key's entry as the owner of its partition knows it: no write is missing."""
        return self.entry(key, self._path.read(key))

    def update(self, key: bytes, function: RawFunction) -> RawEntry | None:
        """Replace the key's value by ``function(value)``; return the entry, None if deleted.

        Where the partition is owned here, the function runs in the owner's queue, once. Else it is
        tried on the value known here, and again on the current one after each conflict.
        """
        deadline = self._clock.monotonic() + UPDATE_TIMEOUT_S
        row: bytes | None = None
        fresh = False
        for attempt in range(UPDATE_TRIES):
            if self._path.owns(key):
                (answer,) = self._path.ask([Update(key, function, self._ttl_ms)])
                fresh = False
            else:
                row = row if fresh else self._path.read(key)
                answer = self._try(key, row, function)
            if isinstance(answer, Conflicted):
                row, fresh = answer.row, True
            elif not isinstance(answer, NotOwnerError):
                return self.entry(key, self.written(answer))
            if self._clock.monotonic() >= deadline:
                break
            self._clock.sleep(_pause_s(attempt))
        raise self._conflict(key, row)

    def _try(self, key: bytes, row: bytes | None, function: RawFunction) -> Result:
        headers, value = (NO_HEADERS, None) if row is None else headers_and_value_of(row)
        before = self._operations.joined(value, headers)
        after = function(before)
        if before is None and after is None:
            return Current(None)
        expected: Version | Absent = ABSENT
        if row is not None:
            expected = Version(self._keyspace.partition_of(key), offset_of(row))
        put = Put(key=key, value=after, expected=expected, ttl_ms=self._ttl_ms)
        (answer,) = self._path.ask([put])
        return answer

    def ask(self, request: AnyRequest) -> Result:
        """The answer to a request; raises its error, except a conflict, which is an answer."""
        (answer,) = self._path.ask([request])
        if isinstance(answer, LastwordError):
            raise answer
        return answer

    def reflect(self, version: Version) -> None:
        """Have later reads here reflect that write; call it before the write is answered."""
        self._reflect(version)

    def written(self, answer: Result) -> bytes | None:
        """The row of an answer, which later reads here reflect; raises what went wrong."""
        if isinstance(answer, Applied):
            self._reflect(answer.version)
        return self.row_of(answer)

    def row_of(self, answer: Result) -> bytes | None:
        """The row of an answer; raises what went wrong."""
        match answer:
            case Applied(row=row):
                return row
            case Current(row=row):
                return row
            case Conflicted(key=key, row=row):
                raise self._conflict(key, row)
            case LastwordError():
                raise answer
        raise RuntimeError(f"a write cannot be answered with {answer!r}")

    def _conflict(self, key: bytes, row: bytes | None) -> ConflictError:
        error = conflict_error(row, self._keyspace.partition_of(key))
        error.current = self.entry(key, row)
        return error

    def entry(self, key: bytes, row: bytes | None) -> RawEntry | None:
        """The row of a key as an entry."""
        return None if row is None else raw_entry(self._keyspace.partition_of(key), key, row)


def _pause_s(attempt: int) -> float:
    """Longer with each attempt, and never the same for two callers that collided."""
    longest_s = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2**attempt)
    return random.uniform(0.0, longest_s)  # noqa: S311 - nobody has to guess it
