"""One memory budget for all RocksDB stores of the process, whatever their number.

Every store reads through the same block cache, index and filter blocks included, and its write
buffers are charged to that cache. So the number of partitions decides how the budget is shared,
not how large it is.
"""

from __future__ import annotations

from functools import cache
from threading import Lock

from rocksdict import Cache, WriteBufferManager

from lastword.errors import ConfigError

MEMORY_BUDGET_BYTES_DEFAULT = 256 << 20
_MEMORY_BUDGET_BYTES_MIN = 8 << 20


class MemoryBudget:
    """The block cache and the write buffers that all RocksDB stores share."""

    def __init__(self, size_bytes: int) -> None:
        self._size_bytes = size_bytes
        self.block_cache = Cache(size_bytes)
        # allow_stall=False: a stalled write would hold the interpreter lock while it waits.
        self.write_buffers = WriteBufferManager.new_write_buffer_manager_with_cache(
            _write_buffer_bytes(size_bytes), False, self.block_cache
        )

    @property
    def size_bytes(self) -> int:
        """The limit."""
        return self._size_bytes

    def resize(self, size_bytes: int) -> None:
        """Change the limit; open stores follow at once."""
        if size_bytes < _MEMORY_BUDGET_BYTES_MIN:
            raise ConfigError(
                f"a memory budget of {size_bytes} bytes is too small for RocksDB",
                hint=f"give it at least {_MEMORY_BUDGET_BYTES_MIN} bytes",
            )
        self._size_bytes = size_bytes
        self.block_cache.set_capacity(size_bytes)
        self.write_buffers.set_buffer_size(_write_buffer_bytes(size_bytes))

    def usage(self) -> dict[str, int]:
        """Bytes in use; ``cache_bytes`` contains ``write_buffer_bytes``."""
        return {
            "budget_bytes": self._size_bytes,
            "cache_bytes": int(self.block_cache.get_usage()),
            "pinned_bytes": int(self.block_cache.get_pinned_usage()),
            "write_buffer_bytes": int(self.write_buffers.get_usage()),
        }


def _write_buffer_bytes(budget_bytes: int) -> int:
    return budget_bytes // 4


_making = Lock()


def memory_budget() -> MemoryBudget:
    """The budget of this process."""
    with _making:
        return _budget()


def set_memory_budget(size_bytes: int) -> None:
    """Limit what all RocksDB stores of this process hold in memory together."""
    memory_budget().resize(size_bytes)


@cache
def _budget() -> MemoryBudget:
    return MemoryBudget(MEMORY_BUDGET_BYTES_DEFAULT)
