"""Leader election: at most one of the participating instances is the leader."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from lastword.durations import Duration
from lastword.errors import LastwordError, LeaseError, LeaseHeldError
from lastword.table.writing.locks import DEFAULT_TTL, Lock

if TYPE_CHECKING:
    from lastword.table.table import Table

log = logging.getLogger(__name__)

_TRY_EVERY = "2s"
_LOOK_S = 0.2
_RETRY_S = 1.0


class Election:
    """One participant, until it is closed. Safe to use from any thread."""

    def __init__(
        self,
        make_lock: Callable[[], Lock],
        on_elected: Callable[[int], None],
        on_deposed: Callable[[], None] | None,
    ) -> None:
        self._make_lock = make_lock
        self._on_elected = on_elected
        self._on_deposed = on_deposed
        self._token: int | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lastword-election", daemon=True)
        self._thread.start()

    @property
    def token(self) -> int | None:
        """This leader's token, greater than all earlier ones; None while it is not the leader."""
        return self._token

    def close(self) -> None:
        """Step down if this is the leader, and leave the election; idempotent."""
        self._closing.set()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def __enter__(self) -> Election:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self) -> None:
        while not self._closing.is_set():
            lock = self._make_lock()
            try:
                token = lock.acquire()
            except LeaseHeldError:
                continue
            except LastwordError as error:
                log.warning("the election cannot continue at the moment: %s", error)
                self._closing.wait(_RETRY_S)
                continue
            self._lead(lock, token)

    def _lead(self, lock: Lock, token: int) -> None:
        self._token = token
        calling = threading.Thread(
            target=self._on_elected, args=(token,), name="lastword-elected", daemon=True
        )
        calling.start()
        while lock.held and not self._closing.is_set():
            lock.lost.wait(_LOOK_S)
        self._token = None
        if self._on_deposed is not None:
            self._on_deposed()
        try:
            lock.release()
        except LeaseError as error:
            log.warning("%s", error)


def election(
    name: str,
    table: Table,
    on_elected: Callable[[int], None],
    *,
    on_deposed: Callable[[], None] | None = None,
    ttl: Duration = DEFAULT_TTL,
) -> Election:
    """Take part in an election of the instances that have ``table`` open.

    ``on_elected`` is called on a separate thread, with the leader's token, each time this process
    becomes the leader. ``on_deposed`` is called when it stops being the leader: because its lease
    ended, or because the election was closed. The lease lasts ``ttl``, so after a crash the next
    leader starts that much later.

    >>> with election("cleaner", table, on_elected=run_cleaner):              # doctest: +SKIP
    ...     serve()
    """
    return Election(
        lambda: table.lock(f"election/{name}", ttl=ttl, wait=_TRY_EVERY), on_elected, on_deposed
    )
