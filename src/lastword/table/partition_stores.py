"""Opens and closes the store of each partition that a table holds."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from lastword.errors import ConfigError, StoreCorruptedError
from lastword.stores.base import Store
from lastword.stores.versioned import VersionedStore
from lastword.table.table_config import TableConfig

log = logging.getLogger(__name__)


class TableStores:
    """The stores of one table, in directories that are locked while they are open."""

    def __init__(self, config: TableConfig) -> None:
        self._config = config

    def open(self, partition: int) -> Store:
        """An open store; one whose files cannot be read is replaced by an empty one.

        Raises StoreLockedError while another process has the directory.
        """
        config = self._config
        path = config.directory.acquire(partition) if config.store.persistent else None
        try:
            return self._opened(partition, path)
        except BaseException:
            config.directory.release(partition)
            raise

    def close(self, partition: int, store: Store) -> None:
        """Close the store, then let others have its directory; idempotent."""
        try:
            store.close()
        finally:
            self._config.directory.release(partition)

    def _opened(self, partition: int, path: Path | None) -> Store:
        store = self._made(partition, path)
        try:
            store.open()
        except StoreCorruptedError as error:
            if path is None:
                raise
            # Nothing is lost: the topic has every row.
            log.warning("%s, partition %d is rebuilt: %s", self._config.topic, partition, error)
            shutil.rmtree(path)
            store = self._made(partition, path)
            store.open()
        return store

    def _made(self, partition: int, path: Path | None) -> Store:
        store = self._config.store(partition, path)
        if self._config.keep is None:
            return store
        if store.capabilities.capacity is not None:
            raise ConfigError(
                "a store that evicts keys cannot keep their versions",
                hint="use store='memory' or store='rocksdb' with versions=",
            )
        return VersionedStore(store)
