"""The leases that this process holds, renewed in the background until they are released.

The holder counts the time of a lease from before its request was sent. The owner counts from its
acknowledgement, which is later, so a holder stops before anybody else can start.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lastword.clock import Clock
from lastword.errors import IndeterminateError, LastwordError, WriteFailedError
from lastword.writer.owned.decide import Result
from lastword.writer.owned.requests import Acquire, Denied, Leased, Release, Renew

log = logging.getLogger(__name__)

AskLeases = Callable[[Sequence[Acquire | Renew | Release], float], list[Result]]
"""(requests, seconds) -> their answers."""

_RENEWALS_PER_TTL = 3
_RELEASE_S = 5.0
_PAUSE_S = 0.05


@dataclass(slots=True, eq=False)
class HeldLease:
    """A lease of this process; ``ends`` and ``renew_at`` are in monotonic time."""

    key: bytes
    holder: str
    token: int
    ttl_s: float
    ends: float
    renew_at: float
    uses: int = 1
    lost: threading.Event = field(default_factory=threading.Event)


class HeldLeases:
    """Acquires, renews and releases the leases of one process. Safe to use from any thread."""

    def __init__(self, ask: AskLeases, clock: Clock) -> None:
        self._ask = ask
        self._clock = clock
        self._changed = threading.Condition()
        self._held: dict[tuple[bytes, str], HeldLease] = {}
        self._thread: threading.Thread | None = None
        self._closed = False

    def acquire(self, key: bytes, holder: str, ttl_ms: int, timeout_s: float) -> HeldLease | Denied:
        """Take the lease, or add a use if this holder has it; raises the error of the request."""
        with self._changed:
            held = self._held.get((key, holder))
            if held is not None and not held.lost.is_set():
                held.uses += 1
                return held
        found = self._acquired(Acquire(key=key, holder=holder, ttl_ms=ttl_ms), timeout_s)
        if isinstance(found, HeldLease):
            self._keep(found)
        return found

    def release(self, lease: HeldLease) -> bool:
        """Give back one use; the last one ends the lease. Returns whether it was held until now."""
        with self._changed:
            lease.uses -= 1
            kept = self.is_held(lease)
            if lease.uses > 0:
                return kept
            self._held.pop((lease.key, lease.holder), None)
        if kept:
            (answer,) = self._ask([Release(key=lease.key, token=lease.token)], _RELEASE_S)
            if isinstance(answer, LastwordError):
                log.warning("could not release a lease; it ends by itself: %s", answer)
        return kept

    def is_held(self, lease: HeldLease) -> bool:
        """Whether no other holder can have the lease at this moment."""
        return not lease.lost.is_set() and self._clock.monotonic() < lease.ends

    def close(self) -> None:
        """Stop renewing, and release all leases; idempotent."""
        with self._changed:
            self._closed = True
            held, self._held = list(self._held.values()), {}
            self._changed.notify()
        for lease in held:
            lease.uses = 1
            self.release(lease)
            lease.lost.set()
        if self._thread is not None:
            self._thread.join()

    def _acquired(self, request: Acquire, timeout_s: float) -> HeldLease | Denied:
        deadline = self._clock.monotonic() + timeout_s
        ttl_s = request.ttl_ms / 1000
        while True:
            sent_at = self._clock.monotonic()
            (answer,) = self._ask([request], max(deadline - sent_at, 0.1))
            if isinstance(answer, Denied):
                return answer
            if not isinstance(answer, Leased | LastwordError):
                raise RuntimeError(f"unexpected answer to a lease request: {answer!r}")
            now = self._clock.monotonic()
            if isinstance(answer, Leased) and (now < sent_at + ttl_s or now >= deadline):
                renew_at = sent_at + ttl_s / _RENEWALS_PER_TTL
                return HeldLease(
                    request.key, request.holder, answer.token, ttl_s, sent_at + ttl_s, renew_at
                )
            # An answer that took longer than the lease lasts is useless. A holder that asks again,
            # even after an error, gets the lease that it already has.
            if isinstance(answer, LastwordError):
                if now >= deadline or not _passes(answer):
                    raise answer
                self._clock.sleep(_PAUSE_S)

    def _keep(self, lease: HeldLease) -> None:
        with self._changed:
            self._held[lease.key, lease.holder] = lease
            self._changed.notify()
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="lastword-lease-renewals", daemon=True
                )
                self._thread.start()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                now = self._clock.monotonic()
                due = [lease for lease in self._held.values() if lease.renew_at <= now]
                if not due:
                    first = min((each.renew_at for each in self._held.values()), default=None)
                    self._changed.wait(None if first is None else first - now)
                    continue
            self._renew(due)

    def _renew(self, due: Sequence[HeldLease]) -> None:
        sent_at = self._clock.monotonic()
        patience_s = max(0.1, min(lease.ttl_s for lease in due) / _RENEWALS_PER_TTL)
        requests = [Renew(key=lease.key, token=lease.token) for lease in due]
        for lease, answer in zip(due, self._ask(requests, patience_s), strict=True):
            pause_s = lease.ttl_s / _RENEWALS_PER_TTL
            if isinstance(answer, Leased):
                lease.ends = sent_at + lease.ttl_s
            elif isinstance(answer, Denied) or self._clock.monotonic() >= lease.ends:
                self._lose(lease)
            else:
                pause_s /= 4  # no answer: retry soon, there is time left
            lease.renew_at = sent_at + pause_s

    def _lose(self, lease: HeldLease) -> None:
        log.warning("lost the lease %r", lease.key)
        lease.lost.set()
        with self._changed:
            if self._held.get((lease.key, lease.holder)) is lease:
                del self._held[lease.key, lease.holder]


def _passes(error: LastwordError) -> bool:
    """Whether a retry may help: the request was not decided, or its outcome is unknown."""
    return error.retriable or isinstance(error, WriteFailedError | IndeterminateError)
