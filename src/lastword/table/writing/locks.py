"""Locks: leases that a process holds during a ``with`` block, each with a fencing token."""

from __future__ import annotations

import os
import random
import socket
import threading
import uuid
from collections.abc import Callable
from types import TracebackType

from lastword.clock import Clock
from lastword.durations import Duration, milliseconds
from lastword.errors import ConfigError, LeaseHeldError, LeaseLostError
from lastword.table.table_config import TableConfig
from lastword.table.writing.held_leases import HeldLease
from lastword.table.writing.lease_table import SHARED_LEASES, LeaseTable
from lastword.writer.owned.leases import LONGEST_TTL_MS, SHORTEST_TTL_MS
from lastword.writer.owned.requests import Denied

DEFAULT_TTL = "10s"
DEFAULT_WAIT = "60s"
_ASK_S = 30.0
_POLL_S = 0.1
_ASK_AGAIN_S = 1.0

_PROCESS = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


def this_thread() -> str:
    """The holder name for the locks that this thread takes."""
    return f"{_PROCESS}:{threading.get_ident()}"


class Lock:
    """A named lock, shared by all instances of the application.

    ``with lock as token:`` waits until the lock is free, and releases it at the end. The lock is
    renewed in the background. If renewal fails for ``ttl``, others may take the lock: ``held``
    turns False at once, and the end of the block raises LeaseLostError. The token grows with each
    holder. Pass it to whatever the lock protects, so that it can refuse a former holder.

    A thread that holds the lock can take it again, with the same token. Use this object from one
    thread; other threads ask the table for a lock of the same name.
    """

    def __init__(
        self,
        open_leases: Callable[[], LeaseTable],
        name: str,
        *,
        ttl: Duration,
        wait: Duration,
        clock: Clock,
        holder: Callable[[], str] = this_thread,
    ) -> None:
        self._open_leases = open_leases
        self._name = name
        self._ttl_ms = milliseconds(ttl, what="the time of a lock")
        if not SHORTEST_TTL_MS <= self._ttl_ms <= LONGEST_TTL_MS:
            raise ConfigError(
                f"a lock cannot be held for {ttl!r}", hint="choose a ttl from 1 s to 24 h"
            )
        self._wait_s = milliseconds(wait, what="the wait for a lock") / 1000
        self._clock = clock
        self._holder = holder
        self._lease: HeldLease | None = None
        self._uses = 0

    @property
    def held(self) -> bool:
        """Whether no other holder can have the lock at this moment."""
        return self._lease is not None and self._open_leases().held.is_held(self._lease)

    @property
    def lost(self) -> threading.Event:
        """Set when the lock is lost before it is released."""
        if self._lease is None:
            raise LeaseLostError(f"the lock {self._name!r} is not held", hint="acquire it first")
        return self._lease.lost

    def acquire(self) -> int:
        """Wait for the lock and return its token; raises LeaseHeldError after ``wait``."""
        leases = self._open_leases()
        deadline = self._clock.monotonic() + self._wait_s
        while True:
            # However short ``wait`` is, the owner needs time to answer.
            found = leases.held.acquire(self._name.encode(), self._holder(), self._ttl_ms, _ASK_S)
            if isinstance(found, HeldLease):
                self._lease = found
                self._uses += 1
                return found.token
            left_s = deadline - self._clock.monotonic()
            if left_s <= 0:
                raise self._taken(found)
            self._wait_for_release(leases, min(left_s, found.remaining_ms / 1000 or _POLL_S))

    def _wait_for_release(self, leases: LeaseTable, longest_s: float) -> None:
        """Wait for news of the lock; asking its owner again and again would cost more."""
        if not leases.wait_until_released(self._name.encode(), min(longest_s, _ASK_AGAIN_S)):
            self._clock.sleep(random.uniform(0.5, 1.0) * min(longest_s, _POLL_S))  # noqa: S311

    def release(self) -> None:
        """Release the lock; raises LeaseLostError if it was lost before."""
        lease = self._lease
        if lease is None:
            raise LeaseLostError(f"the lock {self._name!r} is not held", hint="acquire it first")
        self._uses -= 1
        if self._uses == 0:
            self._lease = None
        if not self._open_leases().held.release(lease):
            raise LeaseLostError(
                f"the lock {self._name!r} was lost before it was released",
                hint="others may have worked at the same time; a longer ttl makes this rarer",
            )

    def __enter__(self) -> int:
        return self.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.release()
        except LeaseLostError:
            if error is None:
                raise

    def _taken(self, denied: Denied) -> LeaseHeldError:
        return LeaseHeldError(
            f"the lock {self._name!r} is held by {denied.holder}",
            holder=denied.holder,
            hint="wait longer (wait=...), or try again later",
        )


class Locks:
    """The locks of one topic: equal names are the same lock."""

    def __init__(self, config: TableConfig) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._leases: LeaseTable | None = None

    def lock(self, name: str, *, ttl: Duration, wait: Duration) -> Lock:
        """Create a lock object; it does not acquire the lock."""
        full_name = f"{self._config.topic}/{name}"
        return Lock(self._open, full_name, ttl=ttl, wait=wait, clock=self._config.clock)

    def close(self) -> None:
        """Release the locks that this table holds; idempotent."""
        with self._lock:
            leases, self._leases = self._leases, None
        if leases is not None:
            SHARED_LEASES.close(self._config)

    def _open(self) -> LeaseTable:
        with self._lock:
            if self._leases is None:
                self._leases = SHARED_LEASES.open(self._config)
            return self._leases
