"""Which tombstones an owner has to write by itself: of keys whose time to live is over."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress

from lastword.errors import LastwordError
from lastword.rows import expires_at_of, offset_of
from lastword.writer.due_keys import DueKey, DueKeys

Rows = Iterable[tuple[bytes, bytes]]

_KEYS_PER_BATCH = 1_000
# Those who write and read should notice little of a walk over millions of rows.
_ROWS_PER_STEP = 2_000
_PAUSE_S = 0.005
_RECORD_BYTES = 120
"""About what a tombstone takes besides its key: its request id above all."""


class ExpiringKeys:
    """The keys of one partition that expire, while it is owned here. The owner's thread uses it.

    At take-over a thread of its own walks over the rows, for that may take long and nothing waits
    for it: a key that is read or written gets its tombstone by then anyway. An entry may be out of
    date, so whoever takes one looks at the row before it deletes the key.
    """

    def __init__(self, name: str, batch_bytes: int) -> None:
        self._name = name
        self._bytes_max = batch_bytes // 2
        self._due = DueKeys()
        self._found: deque[DueKey] = deque()
        self._walk: _Walk | None = None

    def begin(self, rows: Rows) -> None:
        """The partition was taken over and holds these rows; later ones come by ``note``."""
        self.stop()
        self._due, self._found = DueKeys(), deque()
        self._walk = _Walk(self._name, rows, self._found)
        self._walk.start()

    def note(self, rows: Mapping[bytes, tuple[int, bytes | None]]) -> None:
        """These rows are acknowledged, each with its offset; None is a tombstone."""
        for key, (offset, row) in rows.items():
            self._due.note(key, offset, None if row is None else expires_at_of(row))

    def take(self, now_ms: int) -> list[DueKey]:
        """Take out keys that are due, as many as fit into a batch; ``give_back`` if that fails."""
        while self._found:
            self._give(self._found.popleft())
        taken: list[DueKey] = []
        size = 0
        while len(taken) < _KEYS_PER_BATCH and size < self._bytes_max:
            due = self._due.take(now_ms, 1)
            if not due:
                break
            taken += due
            size += len(due[0].key) + _RECORD_BYTES
        return taken

    def give_back(self, taken: Iterable[DueKey]) -> None:
        """Their tombstones were not written."""
        for entry in taken:
            self._give(entry)

    def stop(self) -> None:
        """End the walk over the rows, if there is one; idempotent."""
        if self._walk is not None:
            self._walk.stop()

    def _give(self, entry: DueKey) -> None:
        self._due.note(entry.key, entry.offset, entry.expires_at_ms)


class _Walk:
    """Looks at all rows once, in the background."""

    def __init__(self, name: str, rows: Rows, found: deque[DueKey]) -> None:
        self._rows = rows
        self._found = found
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"{name}-expiring", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        with suppress(LastwordError):  # the partition has left, and its next owner walks
            for number, (key, row) in enumerate(self._rows, 1):
                if number % _ROWS_PER_STEP == 0 and self._stopped.wait(_PAUSE_S):
                    return
                expires_at_ms = expires_at_of(row)
                if expires_at_ms is not None:
                    self._found.append(DueKey(expires_at_ms, key, offset_of(row)))
