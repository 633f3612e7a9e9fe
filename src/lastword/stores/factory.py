"""Turns ``"memory"``, ``"rocksdb"`` or ``"lru:10"`` into stores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lastword.errors import ConfigError
from lastword.stores.base import Store
from lastword.stores.lru import LRUStore
from lastword.stores.memory import MemoryStore
from lastword.stores.rocksdb import RocksDBStore

StoreMaker = Callable[[int, Path], Store]
StoreSpec = str | Store | StoreMaker

_HINT = "use 'memory', 'rocksdb', 'lru:CAPACITY', a Store, or a callable (partition, directory)"


class StoreFactory:
    """Makes the store of each partition; ``persistent`` says whether it needs a directory."""

    def __init__(self, make: StoreMaker, *, persistent: bool) -> None:
        self._make = make
        self.persistent = persistent

    def __call__(self, partition: int, directory: Path | None) -> Store:
        """A new store, not yet open, for ``partition``."""
        if directory is None and self.persistent:
            raise ConfigError(
                "this store keeps files and was given no directory", hint="set a state directory"
            )
        store = self._make(partition, directory or Path())
        if not isinstance(store, Store):
            raise ConfigError(
                f"{store!r} of partition {partition} is not a store",
                hint="implement lastword.stores.base.Store, and run the StoreContract tests on it",
            )
        return store


def store_factory(spec: StoreSpec) -> StoreFactory:
    """The factory for a name, for a callable, or for one ready store of a single partition.

    A callable gets the partition and a separate directory for its files.
    """
    if isinstance(spec, str):
        return _by_name(spec)
    # A class has all the attributes of its instances, and is a callable here.
    if isinstance(spec, Store) and not isinstance(spec, type):
        return StoreFactory(_only_once(spec), persistent=False)
    if callable(spec):
        return StoreFactory(spec, persistent=True)
    raise ConfigError(f"{spec!r} is not a store", hint=_HINT)


def _by_name(name: str) -> StoreFactory:
    if name == "memory":
        return StoreFactory(lambda _partition, _directory: MemoryStore(), persistent=False)
    if name == "rocksdb":
        return StoreFactory(lambda _partition, path: RocksDBStore(path), persistent=True)
    kind, _, capacity = name.partition(":")
    if kind == "lru" and capacity.isdecimal() and int(capacity) > 0:
        rows = int(capacity)
        return StoreFactory(lambda _partition, _directory: LRUStore(rows), persistent=False)
    raise ConfigError(f"{name!r} is not a store", hint=_HINT)


def _only_once(store: Store) -> StoreMaker:
    given_to: list[int] = []

    def make(partition: int, _directory: Path) -> Store:
        if given_to and given_to != [partition]:
            raise ConfigError(
                "one store object cannot hold several partitions",
                hint="pass a callable (partition, directory) that makes one for each",
            )
        given_to[:] = [partition]
        return store

    return make
