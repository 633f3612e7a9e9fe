"""The tombstones that an owner writes for expired keys."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress

from lastword.errors import LastwordError
from lastword.rows import HAS_EXPIRY, expires_at_of, offset_of
from lastword.writer.due_keys import DueKey, DueKeys

Rows = Iterable[tuple[bytes, bytes]]

_KEYS_PER_BATCH = 1_000
# Reads and writes should hardly notice a scan over millions of rows.
_ROWS_PER_STEP = 2_000
_PAUSE_S = 0.005
_RECORD_BYTES = 120
"""About the size of a tombstone besides its key: mainly its request id."""


class ExpiringKeys:
    """The keys with an expiry in one owned partition. Used by the owner's thread.

    At take-over a separate thread scans the rows. The scan may take long, and nothing waits for
    it: an expired key that is read or written gets its tombstone at once. An entry may be out of
    date, so the owner checks the row before it deletes the key.
    """

    def __init__(self, name: str, batch_bytes: int) -> None:
        self._name = name
        self._bytes_max = batch_bytes // 2
        self._due = DueKeys()
        self._found: deque[DueKey] = deque()
        self._walk: _Walk | None = None

    def begin(self, rows: Rows) -> None:
        """Start with the rows at take-over; later rows come through ``note``."""
        self.stop()
        self._due, self._found = DueKeys(), deque()
        self._walk = _Walk(self._name, rows, self._found)
        self._walk.start()

    def note(self, rows: Mapping[bytes, tuple[int, bytes | None]]) -> None:
        """Take in acknowledged rows with their offsets; a row of None is a tombstone."""
        due = self._due
        for key, (offset, row) in rows.items():
            if row is not None and row[0] & HAS_EXPIRY:
                due.note(key, offset, expires_at_of(row))
            elif len(due):  # without keys that expire there is none to forget
                due.note(key, offset, None)

    def take(self, now_ms: int) -> list[DueKey]:
        """Remove due keys, as many as fit into a batch; ``give_back`` them if writing fails."""
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
        """Return keys whose tombstones were not written."""
        for entry in taken:
            self._give(entry)

    def stop(self) -> None:
        """End the scan of the rows, if it still runs; idempotent."""
        if self._walk is not None:
            self._walk.stop()

    def _give(self, entry: DueKey) -> None:
        self._due.note(entry.key, entry.offset, entry.expires_at_ms)


class _Walk:
    """Scans all rows once, in the background."""

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
        with suppress(LastwordError):  # the partition has moved, and its next owner scans
            for number, (key, row) in enumerate(self._rows, 1):
                if number % _ROWS_PER_STEP == 0 and self._stopped.wait(_PAUSE_S):
                    return
                expires_at_ms = expires_at_of(row)
                if expires_at_ms is not None:
                    self._found.append(DueKey(expires_at_ms, key, offset_of(row)))
