"""One memory budget for all RocksDB stores of the process together.

Every store reads through the same block cache, index and filter blocks included, and its write
buffer is charged to that cache. So the number of partitions decides how the budget is shared,
not how large it is.
"""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Protocol
from weakref import WeakSet

from rocksdict import Cache, WriteBufferManager

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import ConfigError

MEMORY_BUDGET_BYTES_DEFAULT = 256 << 20
_MEMORY_BUDGET_BYTES_MIN = 8 << 20
_FLUSH_WAIT_SECONDS = 10
_SIZE_OF_ENTRIES_UNKNOWN = 0


class BudgetMember(Protocol):
    """A store that shares the budget."""

    def write_buffer_bytes(self) -> int:
        """Bytes that are not being flushed yet."""

    def flush_write_buffer(self) -> None:
        """Begin to write the buffer to disk."""


class MemoryBudget:
    """The block cache and the write buffers that all RocksDB stores share."""

    def __init__(self, size_bytes: int) -> None:
        self._size_bytes = size_bytes
        self._sharers: WeakSet[BudgetMember] = WeakSet()
        self._lock = Lock()
        # Lookups take no lock and move nothing, unlike those of an LRU cache. Measured: an eighth
        # off a get in one thread. It finds out the size of its entries by itself.
        self.block_cache = Cache.new_hyper_clock_cache(size_bytes, _SIZE_OF_ENTRIES_UNKNOWN)
        # allow_stall=False: a stalled write would hold the interpreter lock while it waits.
        self.write_buffers = WriteBufferManager.new_write_buffer_manager_with_cache(
            self._write_buffer_bytes_max, False, self.block_cache
        )

    @property
    def size_bytes(self) -> int:
        """The limit."""
        return self._size_bytes

    @property
    def _write_buffer_bytes_max(self) -> int:
        return self._size_bytes // 4

    def resize(self, size_bytes: int) -> None:
        """Change the limit; open stores follow with their next reads and writes."""
        if size_bytes < _MEMORY_BUDGET_BYTES_MIN:
            raise ConfigError(
                f"a memory budget of {size_bytes} bytes is too small for RocksDB",
                hint=f"give it at least {_MEMORY_BUDGET_BYTES_MIN} bytes",
            )
        self._size_bytes = size_bytes
        self.block_cache.set_capacity(size_bytes)
        self.write_buffers.set_buffer_size(self._write_buffer_bytes_max)

    def join(self, sharer: BudgetMember) -> None:
        """Add ``sharer``, whose write buffer may be flushed when memory is short."""
        with self._lock:
            self._sharers.add(sharer)

    def leave(self, sharer: BudgetMember) -> None:
        """Remove ``sharer``."""
        with self._lock:
            self._sharers.discard(sharer)

    def relieve(self) -> None:
        """Write the largest buffers to disk when all of them together take too much.

        RocksDB alone flushes the store that is being written, even with a small buffer, and lets
        idle stores keep theirs. So this acts at half of the limit, well before RocksDB, and makes a
        writer that outruns the disk wait.
        """
        enough = self._write_buffer_bytes_max // 2
        if self.write_buffers.get_usage() <= enough:
            return
        with self._lock:
            sharers = list(self._sharers)
        sizes = {sharer: sharer.write_buffer_bytes() for sharer in sharers}
        excess = sum(sizes.values()) - enough
        for sharer in sorted(sizes, key=sizes.__getitem__, reverse=True):
            if excess <= 0:
                break
            sharer.flush_write_buffer()
            excess -= sizes[sharer]
        self._wait_for_flushes()

    def _wait_for_flushes(self) -> None:
        deadline = SYSTEM_CLOCK.monotonic() + _FLUSH_WAIT_SECONDS
        while (
            self.write_buffers.get_usage() > self._write_buffer_bytes_max
            and SYSTEM_CLOCK.monotonic() < deadline
        ):
            SYSTEM_CLOCK.sleep(0.001)

    def usage(self) -> dict[str, int]:
        """Bytes in use; ``cache_bytes`` contains ``write_buffer_bytes``."""
        return {
            "budget_bytes": self._size_bytes,
            "cache_bytes": int(self.block_cache.get_usage()),
            "pinned_bytes": int(self.block_cache.get_pinned_usage()),
            "write_buffer_bytes": int(self.write_buffers.get_usage()),
        }


_making = Lock()


def memory_budget() -> MemoryBudget:
    """The budget of this process."""
    with _making:
        return _budget()


def set_memory_budget(size_bytes: int) -> None:
    """Limit the memory of all RocksDB stores of this process together."""
    memory_budget().resize(size_bytes)


@cache
def _budget() -> MemoryBudget:
    return MemoryBudget(MEMORY_BUDGET_BYTES_DEFAULT)
