"""Rows on disk, in one RocksDB database per partition."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Condition, Lock, RLock
from weakref import WeakSet

from rocksdict import Options, Rdict, WriteBatch

from lastword.errors import StoreError
from lastword.stores.base import Capabilities, StoreScan, not_open, refuse_empty_keys
from lastword.stores.chunked_scan import ChunkedScan
from lastword.stores.layered_rows import LayeredRows
from lastword.stores.rocksdb_counter import RowCounter
from lastword.stores.rocksdb_cursor import CHECKPOINT_KEY, FIRST_KEY, RocksDBCursor, check_end
from lastword.stores.rocksdb_errors import (
    DAMAGED_MARK,
    store_error,
    store_errors,
    unreadable,
)
from lastword.stores.rocksdb_ingest import ingest
from lastword.stores.rocksdb_memory import memory_budget
from lastword.stores.rocksdb_options import database_options
from lastword.stores.rocksdb_tickers import tickers

_CAPABILITIES = Capabilities(persistent=True, restore_batch_bytes=32 << 20)
# From this size on, sorting a batch into a file of its own is cheaper than the write-ahead log
# and the write buffer, and does not hold the interpreter lock for one long write.
INGEST_BYTES_MIN = 4 << 20
# Each row costs as much as this many bytes more, however small it is. Measured: 30,000 counts in a
# file take half the processor time that they take in the write buffer.
_ROW_COSTS_BYTES = 100
_CLOSE_WAIT_SECONDS = 30
_LOOKED_UP_AT_ONCE = 4096
# Measured: 2.9 us to look a row up, 0.4 us to reach it in a scan. Below a thousand keys it
# does not matter.
_LOOK_UP_COSTS_ROWS = 5
SCANNED_FOR_MIN = 1000

_STATS = {
    "file_bytes": "rocksdb.live-sst-files-size",
    "write_buffer_bytes": "rocksdb.cur-size-all-mem-tables",
    "estimated_rows": "rocksdb.estimate-num-keys",
    "level0_files": "rocksdb.num-files-at-level0",
    "running_compactions": "rocksdb.num-running-compactions",
    "pending_compaction_bytes": "rocksdb.estimate-pending-compaction-bytes",
}


class RocksDBStore:
    """A persistent store; rows and checkpoint change in one atomic step.

    Small batches go through RocksDB's write-ahead log, large ones become a sorted file that is
    ingested as a whole. The checkpoint is the row of the empty key, which no table has, so both
    ways include it. Survives a killed process with nothing lost; after a power failure the store
    may be some batches behind, rows and checkpoint still in step.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     store = RocksDBStore(Path(directory))
    ...     store.open()
    ...     store.apply({b"a": b"1"}, (), b"checkpoint")
    ...     store.close()
    ...     store.open()
    ...     print(store.get(b"a"), store.checkpoint())
    ...     store.close()
    b'1' b'checkpoint'
    """

    def __init__(self, path: Path, *, ingest_bytes_min: int = INGEST_BYTES_MIN) -> None:
        self._path = path
        self._ingest_bytes_min = ingest_bytes_min
        self._database: Rdict | None = None
        self._get: Callable[[bytes], bytes | None] = _refuse
        self._counter = RowCounter()
        self._counting = Lock()  # one count at a time
        self._writing = Lock()  # one change at a time; taken before the next one
        self._idle = Condition(RLock())  # guards what readers hold: cursors and borrowings
        self._cursors: WeakSet[RocksDBCursor] = WeakSet()
        self._borrowers = 0
        self._options: Options | None = None
        self._ingested_bytes = 0

    @property
    def capabilities(self) -> Capabilities:
        """Persistent; restores fastest in large batches."""
        return _CAPABILITIES

    def open(self) -> None:
        """Open or create the database; an open store is left as it is.

        Raises StoreLockedError when another process has it open, StoreCorruptedError when its
        files cannot be read.
        """
        with self._writing:
            if self._database is not None:
                return
            options = database_options(memory_budget())
            with store_errors(self._path):
                self._path.mkdir(parents=True, exist_ok=True)
                if (self._path / DAMAGED_MARK).exists():
                    raise unreadable(self._path, "damage was met before")
                # Without column_families rocksdict would take those stored beside the data,
                # with a cache of their own and without what is set here.
                opened = Rdict(str(self._path), options, {"default": options})
                # Reading through the column family saves looking it up by name in every get.
                database = opened.get_column_family("default")
                # Files of a killed restore; only now is it certain that no process writes them.
                self._ingested_file.unlink(missing_ok=True)
            self._counter = RowCounter()
            self._options, self._ingested_bytes = options, 0
            self._database, self._get = database, database.get
            memory_budget().join(self)

    def close(self) -> None:
        """Write everything to disk and release the files; ends open scans; idempotent."""
        with self._writing, self._idle:
            database, self._database, self._get = self._database, None, _refuse
            if database is None:
                return
            memory_budget().leave(self)
            for cursor in list(self._cursors):
                cursor.fail(not_open())
        with self._idle:
            if not self._idle.wait_for(lambda: self._borrowers == 0, _CLOSE_WAIT_SECONDS):
                raise StoreError(
                    f"{self._path}: a read has been running for {_CLOSE_WAIT_SECONDS} seconds",
                    hint="the files are released when it ends",
                )
        with store_errors(self._path):
            database.close()

    def get(self, key: bytes) -> bytes | None:
        """The row, or None."""
        try:
            return self._get(key) if key else None
        except StoreError:
            raise
        except Exception as error:
            raise store_error(error, self._path) from error

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The rows in the order of ``keys``, as of one moment.

        For a large share of all rows, it scans the store instead.
        """
        if len(keys) >= SCANNED_FOR_MIN and self._rows() < len(keys) * _LOOK_UP_COSTS_ROWS:
            wanted = set(keys)
            found = {key: row for key, row in self.scan() if key in wanted}
            return [found.get(key) for key in keys]
        if CHECKPOINT_KEY in keys:
            return [
                row if key else None for key, row in zip(keys, self._look_up(keys), strict=True)
            ]
        return self._look_up(keys)

    def scan(
        self, start: bytes | None = None, end: bytes | None = None, *, reverse: bool = False
    ) -> StoreScan:
        """Rows with ``start <= key < end``, as of this moment."""
        with self._idle, store_errors(self._path):
            cursor = RocksDBCursor(
                self._idle, self._opened(), self._path, start, end, reverse=reverse
            )
            self._cursors.add(cursor)
            return ChunkedScan(cursor)

    def count(self) -> int:
        """The exact number of rows: counted on first use, then kept up to date."""
        with self._counting:
            self._opened()
            rows = self._counter.rows
            return self._count() if rows is None else rows

    def checkpoint(self) -> bytes | None:
        """The checkpoint of the last apply."""
        with store_errors(self._path):
            return self._get(CHECKPOINT_KEY)

    def apply(
        self, puts: Mapping[bytes, bytes], deletes: Collection[bytes], checkpoint: bytes
    ) -> None:
        """Write rows, remove keys and set the checkpoint in one atomic step."""
        refuse_empty_keys(puts, deletes)
        with self._writing, store_errors(self._path):
            database = self._opened()
            counter = self._counter
            rows = self._rows_added(puts, deletes) if counter.wants_changes else 0
            if self._is_large(puts):
                file = self._ingested_file
                self._ingested_bytes += ingest(database, file, puts, deletes, checkpoint)
            else:
                batch = WriteBatch(raw_mode=True)
                batch[CHECKPOINT_KEY] = checkpoint
                for key, row in puts.items():
                    batch[key] = row
                for key in deletes:
                    batch.delete(key)
                database.write(batch)
            counter.changed(rows)
        memory_budget().relieve()

    def evict(self) -> list[bytes]:
        """Do nothing: there is no capacity."""
        return []

    def clear(self) -> None:
        """Forget every row and the checkpoint in one atomic step, then free the space."""
        with self._writing, store_errors(self._path):
            database = self._opened()
            last_key = next(database.keys(backwards=True), None)
            if last_key is None:
                check_end(database, None, FIRST_KEY, None, reverse=True)
                return
            batch = WriteBatch(raw_mode=True)
            batch.delete(CHECKPOINT_KEY)
            if last_key != CHECKPOINT_KEY:
                batch.delete_range(FIRST_KEY, last_key + b"\x00")
            database.write(batch)
            self._counter = RowCounter()  # a rebuild follows, which should not pay for counting
            database.compact_range(None, None)
            # rocksdict does not report the result.
            if database.property_int_value("rocksdb.background-errors"):
                raise unreadable(self._path, "compaction failed")

    def size_bytes(self) -> int:
        """Bytes of the live files and of the write buffers."""
        gauges = self._gauges()
        return gauges["file_bytes"] + gauges["write_buffer_bytes"]

    def stats(self) -> Mapping[str, int]:
        """RocksDB's own statistics, and the bytes it moved since it was opened."""
        counted = {} if self._options is None else tickers(self._options)
        if counted:
            counted["bytes_written_total"] += self._ingested_bytes
        return self._gauges() | counted

    def write_buffer_bytes(self) -> int:
        """Bytes written and not yet in a file; 0 when closed."""
        with self._idle, store_errors(self._path):
            if self._database is None:
                return 0
            return self._database.property_int_value("rocksdb.cur-size-active-mem-table") or 0

    def flush_write_buffer(self) -> None:
        """Start writing the buffer to a file; the write-ahead log has its contents anyway."""
        # Another store asks: the next write of this one reports a failure.
        with suppress(StoreError), self._borrowed() as database:
            database.flush(False)

    def _rows(self) -> int:
        """As RocksDB estimates them."""
        return self._gauges()["estimated_rows"]

    def _gauges(self) -> dict[str, int]:
        with self._idle, store_errors(self._path):
            database = self._opened()
            return {
                name: database.property_int_value(rocksdb_name) or 0
                for name, rocksdb_name in _STATS.items()
            }

    @property
    def _ingested_file(self) -> Path:
        return self._path / "ingested.sst"

    def _opened(self) -> Rdict:
        if self._database is None:
            raise not_open()
        return self._database

    @contextmanager
    def _borrowed(self) -> Iterator[Rdict]:
        """The database for a call during which other threads run; ``close`` waits for it."""
        with self._idle:
            database = self._opened()
            self._borrowers += 1
        try:
            with store_errors(self._path):
                yield database
        finally:
            self._give_back()

    def _give_back(self) -> None:
        with self._idle:
            self._borrowers -= 1
            if not self._borrowers:
                self._idle.notify_all()

    def _look_up(self, keys: Sequence[bytes]) -> list[bytes | None]:
        # `_borrowed` without its context managers: for few keys they cost as much as the lookup.
        with self._idle:
            database = self._opened()
            self._borrowers += 1
        try:
            rows: list[bytes | None] = database.get(list(keys))
            return rows
        except Exception as error:
            raise store_error(error, self._path) from error
        finally:
            self._give_back()

    def _count(self) -> int:
        with self._borrowed():
            with self._writing:
                # `clear` and `open` put a new counter in its place: this count is then of the
                # rows that were there, and the next one starts afresh.
                counter = self._counter
                count = counter.start(self._opened())
            counted = 0
            while rows := count.next_piece():
                counted += rows
                self._opened()  # do not keep `close` waiting
            return counter.finish(counted)

    def _is_large(self, puts: Mapping[bytes, bytes]) -> bool:
        count = puts.changes if isinstance(puts, LayeredRows) else len(puts)
        costs = count * _ROW_COSTS_BYTES
        enough = self._ingest_bytes_min
        return costs >= enough or costs + sum(map(len, puts.values())) >= enough

    def _rows_added(self, puts: Mapping[bytes, bytes], deletes: Collection[bytes]) -> int:
        return len(puts) - self._present(list(puts)) - self._present(list(set(deletes)))

    def _present(self, keys: list[bytes]) -> int:
        pieces = (
            keys[first : first + _LOOKED_UP_AT_ONCE]
            for first in range(0, len(keys), _LOOKED_UP_AT_ONCE)
        )
        return sum(row is not None for piece in pieces for row in self._look_up(piece))


def _refuse(_key: bytes) -> bytes | None:
    raise not_open()
