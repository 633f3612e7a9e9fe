"""One store of one partition on this machine: opened, restored to the committed state, closed."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import msgspec

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import StoreCorruptedError, StoreLockedError
from lastword.kafka.admin import Admin
from lastword.kafka.log.lent_reader import LentReader
from lastword.kafka.log.ranges import read_ranges
from lastword.kafka.log.source import STALL_TIMEOUT_S, LogReader, LogSource
from lastword.pipelines.graph.node import StorePlan
from lastword.pipelines.graph.task_plan import TaskPlan
from lastword.pipelines.operators.state_view import StateView
from lastword.pipelines.operators.table_view import TableView
from lastword.pipelines.task.any_key_store import AnyKeyStore
from lastword.pipelines.task.release_request import ask_to_release
from lastword.pipelines.task.task_report import StoreSize
from lastword.records import FENCE_KEY, Batch
from lastword.replicas.apply.checkpoint import Checkpoint, decode_checkpoint, encode_checkpoint
from lastword.replicas.catch_up import catch_up
from lastword.replicas.state_directory import StateDirectory
from lastword.replicas.topic.topic_state import TopicState, read_topic_state
from lastword.stores.rocksdb import RocksDBStore

log = logging.getLogger(__name__)

LOCK_WAIT_S = 20.0
_LOCK_LOOK_S = 0.005
_ROWS_BYTES = 8


class PartitionState:
    """Holds the lock and the store of one operator on this machine.

    The changelog is the backup. A store that is not at the committed offset of its changelog is
    restored from it: a new one, one that is behind, or one that is ahead after a crash.
    """

    def __init__(
        self, plan: TaskPlan, store: StorePlan, partition: int, log_source: LogSource
    ) -> None:
        self.plan = store
        self._connection = plan.connection
        self._log_source = log_source
        self._partition = partition
        self._clock = SYSTEM_CLOCK
        self._directory = StateDirectory(
            plan.state_dir, plan.application_id, store.name, self._clock
        )
        self.directory = self._directory.path / str(partition)
        self._checkpoint: Checkpoint | None = None
        self._rows: int | None = None
        self._reading: Generator[Batch, None, None] | None = None
        self._table_reader: LogReader | None = None
        self._store = self._open(self._acquire())

    def _acquire(self) -> Path:
        """Wait for a worker that keeps the store, or for an attempt that is about to end."""
        deadline = self._clock.monotonic() + LOCK_WAIT_S
        while True:
            try:
                return self._directory.acquire(self._partition)
            except StoreLockedError:
                if self._clock.monotonic() >= deadline:
                    raise
                ask_to_release(self.directory)
                self._clock.sleep(_LOCK_LOOK_S)

    def _open(self, path: Path) -> AnyKeyStore:
        """Open the store; an unreadable one is deleted, because the changelog can restore it."""
        store = AnyKeyStore(RocksDBStore(path))
        try:
            store.open()
        except StoreCorruptedError as error:
            log.warning("%s: deleting the store and restoring it: %s", path, error)
            shutil.rmtree(path)
            store = AnyKeyStore(RocksDBStore(path))
            store.open()
        return store

    def bring_to(self, changelog_offset: int) -> int:
        """Restore the store to exactly ``changelog_offset`` of its changelog.

        Returns the number of changelog records read.
        """
        if self.plan.changelog is None:
            return 0
        checkpoint = decode_checkpoint(self._store.checkpoint())
        if checkpoint is not None and checkpoint.next_offset == changelog_offset:
            self._checkpoint = checkpoint
            return 0
        if checkpoint is not None and checkpoint.next_offset > changelog_offset:
            # Written by a transaction that was aborted.
            self._store.clear()
        self._rows = None
        topic_state = self._look_up(self.plan.changelog)
        restored = catch_up(
            self._log_source,
            self.plan.changelog,
            self._partition,
            self._store,
            topic_state=topic_state,
            until=changelog_offset,
            clock=self._clock,
            takes_empty_keys=True,
        )
        self._checkpoint = decode_checkpoint(self._store.checkpoint())
        return restored

    def view(self) -> StateView:
        """A fresh view for one batch."""
        return StateView(self._store, every_update=self.plan.every_update)

    def following(self, position: int, end: int) -> TableView:
        """A view of a table that advances from ``position`` with the events."""
        topic = self.plan.changelog or ""
        self._stop_reading()
        reading = read_ranges(
            self._lend_reader,
            topic,
            {self._partition: (position, end)},
            stall_timeout_s=STALL_TIMEOUT_S,
            stopping=lambda: False,
        )
        self._reading = reading
        every = (record for batch in reading for record in batch.records())
        records = (record for record in every if record.key != FENCE_KEY)
        return TableView(self._store, records, position=position, end=end)

    def commit(self, view: StateView, changelog_offset: int) -> None:
        """Write the batch, which is already in the changelog, to the store."""
        self._rows = self._rows_before() + view.rows_added()
        if self._checkpoint is None:
            # Without a changelog, the offset is only a counter.
            view.commit(self._rows.to_bytes(_ROWS_BYTES, "big"))
            return
        self._checkpoint = msgspec.structs.replace(
            self._checkpoint,
            next_offset=changelog_offset,
            caught_up_at_ms=self._clock.now_ms(),
            rows=self._rows,
        )
        view.commit(encode_checkpoint(self._checkpoint), changelog_offset)

    def size(self) -> StoreSize:
        """The size of the store; takes microseconds once a batch was committed."""
        return StoreSize(self._rows_before(), self._store.size_bytes())

    def _rows_before(self) -> int:
        """The number of rows; counted only after a restore."""
        if self._rows is not None:
            return self._rows
        if self._checkpoint is not None:
            known = self._checkpoint.rows
        else:
            kept = self._store.checkpoint() or b""
            known = int.from_bytes(kept, "big") if len(kept) == _ROWS_BYTES else None
        return self._count() if known is None else known

    def _count(self) -> int:
        """Count the rows once.

        After its ``count``, a store looks up every key that changes, to keep the number up to
        date. Here the view knows the rows before its changes.
        """
        with closing(self._store.scan()) as rows:
            return sum(1 for _ in rows)

    def close(self) -> None:
        """Close the store and release its lock; idempotent."""
        self._stop_reading()
        self._store.close()
        self._directory.release()

    def _lend_reader(self) -> LogReader:
        """One for all batches: to connect takes longer than to read what is new."""
        if self._table_reader is None:
            self._table_reader = self._log_source.follow(self.plan.changelog or "")
        return LentReader(self._table_reader)

    def _stop_reading(self) -> None:
        if self._reading is not None:
            self._reading.close()
            self._reading = None

    def _look_up(self, topic: str) -> TopicState:
        with Admin(self._connection) as admin:
            return read_topic_state(admin, topic, self._clock.now_ms())
