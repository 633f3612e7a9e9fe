"""Keeps the stores of a worker open from one batch to the next."""

from __future__ import annotations

import logging
import selectors
import threading
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.errors import LastwordError
from lastword.pipelines.task.release_request import ReleaseRequests
from lastword.pipelines.task.task_stores import TaskStores

log = logging.getLogger(__name__)

KEEP_S = 30.0
"""How long a store stays open without a batch."""
_LOOK_S = 1.0

Cached = tuple[str, str]
"""The servers of a cluster, and a transactional id or a group: names are unique only within one
cluster, and a worker outlives the query that started it."""


@dataclass(slots=True)
class _Kept:
    stores: TaskStores
    generation: bytes
    requests: list[ReleaseRequests]
    until: float


class StoreKeeper:
    """Holds open stores while no task uses them; opening and closing takes longer than a batch.

    A task takes the stores of its partition and gives them back afterwards, so only one of both
    threads ever uses them. The keeper's thread closes stores that no batch has needed for a while,
    and those that another process asks for, because its task got the partition.
    """

    def __init__(self, *, keep_s: float = KEEP_S, clock: Clock = SYSTEM_CLOCK) -> None:
        self._keep_s = keep_s
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[Cached, _Kept] = {}
        self._thread: threading.Thread | None = None

    @cached_property
    def _selector(self) -> selectors.BaseSelector:
        """Created on first use: PySpark forks its workers from a process that has a keeper, too."""
        return selectors.DefaultSelector()

    def take(self, key: Cached, generation: bytes) -> TaskStores | None:
        """The open stores of a partition; those of another generation are closed instead."""
        with self._lock:
            kept = self._kept.pop(key, None)
            if kept is None:
                return None
            self._stop_listening(kept)
            if kept.generation != generation:
                kept.stores.close()
                return None
            return kept.stores

    def keep(self, key: Cached, generation: bytes, stores: TaskStores) -> None:
        """Keep open what a task of this ``generation`` of the driver has used."""
        kept = _Kept(stores, generation, [], self._clock.monotonic() + self._keep_s)
        with self._lock:
            self._kept[key] = kept
            try:
                self._listen(key, kept)
            except OSError as error:  # a file system without named pipes
                log.debug("%s is not kept open: %s", key[1], error)
                self._close(key)
            else:
                self._start()

    def drop(self, key: Cached) -> None:
        """Close the stores of a partition, if they are kept."""
        with self._lock:
            self._close(key)

    def _listen(self, key: Cached, kept: _Kept) -> None:
        for directory in kept.stores.directories:
            requests = ReleaseRequests(directory)
            kept.requests.append(requests)
            self._selector.register(requests, selectors.EVENT_READ, key)

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="store-keeper", daemon=True)
            self._thread.start()

    def _watch(self) -> None:
        """Runs on the keeper's thread as long as there is anything to keep."""
        while True:
            ready = self._selector.select(min(_LOOK_S, self._keep_s))
            requested = {selected.data for selected, _ in ready}
            with self._lock:
                now = self._clock.monotonic()
                expired = {key for key, kept in self._kept.items() if kept.until <= now}
                for key in requested | expired:
                    self._close(key)
                if not self._kept:
                    self._thread = None
                    return

    def _close(self, key: Cached) -> None:
        kept = self._kept.pop(key, None)
        if kept is None:
            return
        self._stop_listening(kept)
        try:
            kept.stores.close()
        except LastwordError as error:
            log.warning("closing the stores of %s: %s", key[1], error)

    def _stop_listening(self, kept: _Kept) -> None:
        for each in kept.requests:
            with suppress(KeyError):
                self._selector.unregister(each)
            each.close()
