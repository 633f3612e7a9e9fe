"""The requests to the owner of a partition, in bytes, and its answers.

All but ``Update``, which holds a function, can be sent to a peer. A request keeps its id when it
is sent again, and each of its records carries the id, so the log shows whether it was applied.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from lastword.records import NO_HEADERS, Absent, Headers, Version

Expected = Version | Absent | None
"""The version that a key must have; ABSENT if the key must not exist; None for no condition."""


class RequestIds:
    """Sixteen bytes for each request: a random number of this process, and a count.

    A random number per request would cost a system call, and each of those lets another thread run
    first. A forked child draws a new number.
    """

    def __init__(self) -> None:
        self._process = os.urandom(8)
        self._numbers = itertools.count()
        os.register_at_fork(after_in_child=self._draw)

    def __call__(self) -> bytes:
        """The id of one more request."""
        return self._process + next(self._numbers).to_bytes(8)

    def _draw(self) -> None:
        self._process = os.urandom(8)


new_request_id = RequestIds()


class Request(msgspec.Struct, frozen=True, array_like=True, tag=True, kw_only=True):
    """The base class of requests that can be sent to a peer.

    A value written with ``ttl_ms`` expires that long after its owner has decided the request.
    """

    request_id: bytes = msgspec.field(default_factory=new_request_id)

    @property
    def size_bytes(self) -> int:
        """Roughly the memory it takes in a queue."""
        return 0


class Put(Request, frozen=True, array_like=True, tag="put"):
    """Write a value, or a tombstone for None, if ``expected`` is the key's current version."""

    key: bytes
    value: bytes | None
    headers: Headers = NO_HEADERS
    timestamp_ms: int | None = None
    expected: Expected = None
    ttl_ms: int | None = None

    @property
    def size_bytes(self) -> int:
        """Key and value."""
        return len(self.key) + len(self.value or b"")


class Operate(Request, frozen=True, array_like=True, tag="operate"):
    """Replace a key's value by the result of a named operation."""

    key: bytes
    operation: str
    argument: bytes
    ttl_ms: int | None = None

    @property
    def size_bytes(self) -> int:
        """Key and argument; the size of the result is not known yet."""
        return len(self.key) + len(self.argument)


class Transact(Request, frozen=True, array_like=True, tag="transact"):
    """Write several keys of one partition atomically; ``expected`` may name other keys as well."""

    writes: tuple[tuple[bytes, bytes | None], ...]
    expected: tuple[tuple[bytes, Version | Absent], ...] = ()
    ttl_ms: int | None = None

    @property
    def size_bytes(self) -> int:
        """Keys and values."""
        return sum(len(key) + len(value or b"") for key, value in self.writes)


class Read(Request, frozen=True, array_like=True, tag="read"):
    """A key's current row."""

    key: bytes


class Acquire(Request, frozen=True, array_like=True, tag="acquire"):
    """Take a lease for ``ttl_ms``, or extend it if the caller already holds it."""

    key: bytes
    holder: str
    ttl_ms: int


class Renew(Request, frozen=True, array_like=True, tag="renew"):
    """Extend the lease with this token."""

    key: bytes
    token: int


class Release(Request, frozen=True, array_like=True, tag="release"):
    """End the lease with this token."""

    key: bytes
    token: int


@dataclass(frozen=True, slots=True)
class Update:
    """Replace a key's value by the result of ``function``; None deletes the key.

    The function gets the raw value, None if the key is absent. It runs on the owner's thread.
    """

    key: bytes
    function: Callable[[bytes | None], bytes | None]
    ttl_ms: int | None = None
    request_id: bytes = field(default_factory=new_request_id)

    @property
    def size_bytes(self) -> int:
        """The key; the size of the result is not known yet."""
        return len(self.key)


SentRequest = Put | Operate | Transact | Read | Acquire | Renew | Release
AnyRequest = SentRequest | Update


class OwnerAnswer(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The base class of all answers that are not errors."""


class Applied(OwnerAnswer, frozen=True, array_like=True, tag="applied"):
    """Written. ``versions`` has one per record; ``row`` is the last key's, None if deleted."""

    versions: tuple[Version, ...]
    row: bytes | None = None

    @property
    def version(self) -> Version:
        """The version of the last record."""
        return self.versions[-1]


class Conflicted(OwnerAnswer, frozen=True, array_like=True, tag="conflict"):
    """Not written: ``key`` has another version than expected. ``row`` is its current row."""

    key: bytes
    row: bytes | None


class Current(OwnerAnswer, frozen=True, array_like=True, tag="current"):
    """The current row of a key that was read, or that an operation left unchanged."""

    row: bytes | None


class Leased(OwnerAnswer, frozen=True, array_like=True, tag="leased"):
    """The caller holds the lease, with this token."""

    token: int


class Denied(OwnerAnswer, frozen=True, array_like=True, tag="denied"):
    """Another holder has the lease for ``remaining_ms`` more; without a holder, it has ended."""

    holder: str | None
    remaining_ms: int = 0


AnyAnswer = Applied | Conflicted | Current | Leased | Denied
