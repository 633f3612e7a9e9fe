"""``lastword state``: the local state directory as a tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import click

from lastword.cli.support.app_context import AppContext, with_app
from lastword.cli.support.output import as_time, printable
from lastword.cli.support.sizes import as_size
from lastword.clock import SYSTEM_CLOCK
from lastword.errors import LastwordError
from lastword.replicas.apply.checkpoint import Checkpoint, decode_checkpoint
from lastword.replicas.state_directory import (
    STORE_DIRECTORY,
    LockHolder,
    StateDirectory,
    holder_of,
)
from lastword.stores.base import Store
from lastword.stores.rocksdb import RocksDBStore
from lastword.stores.versioned import VersionedStore, keeps_versions

_MARK_OF_ROCKSDB = "CURRENT"


@dataclass(frozen=True)
class StoredPartition:
    """What is on disk for one partition; checkpoint and keys are unknown while it is in use."""

    application_id: str
    table: str
    partition: int
    path: Path
    size_bytes: int
    holder: LockHolder | None = None
    checkpoint: Checkpoint | None = None
    keys: int | None = None
    problem: str | None = None

    def as_object(self) -> dict[str, object]:
        """The JSON shape."""
        at, holder = self.checkpoint, self.holder
        return {
            "application_id": self.application_id,
            "table": self.table,
            "partition": self.partition,
            "path": str(self.path),
            "bytes": self.size_bytes,
            "keys": self.keys,
            "next_offset": at and at.next_offset,
            "caught_up_at": at and at.caught_up_at_ms,
            "topic_id": at and at.topic_id,
            "cluster_id": at and at.cluster_id,
            "holder": holder and {"pid": holder.pid, "host": holder.host, "since": holder.since_ms},
            "problem": self.problem,
        }

    def as_line(self) -> str:
        """One line of the tree."""
        parts = [f"partition {self.partition}", as_size(self.size_bytes)]
        if self.keys is not None:
            parts.append(f"{self.keys:,} keys")
        if self.checkpoint is not None:
            caught_up = as_time(self.checkpoint.caught_up_at_ms)
            parts.append(f"next offset {self.checkpoint.next_offset}, caught up {caught_up}")
        if self.holder is not None:
            parts.append(f"in use by process {self.holder.pid} on {self.holder.host}")
        if self.problem is not None:
            parts.append(self.problem)
        return printable(" · ".join(parts))


@click.command()
@with_app
def state(app: AppContext) -> None:
    """Show the local state directory: lock holder, checkpoint, keys and bytes per partition.

    A store that a running process uses is not opened, so its checkpoint and keys are unknown.
    """
    states = list(read_states(app.state_dir))
    if app.json_lines:
        app.output.rows([], (each.as_object() for each in states))
        return
    if not states:
        app.output.info(f"{app.state_dir} holds no state")
        return
    _print_tree(app, states)


def read_states(state_dir: Path) -> Iterator[StoredPartition]:
    """Every partition below ``state_dir``, by application, table and number."""
    for directory in sorted(state_dir.glob("*/*/*"), key=_by_number):
        if directory.is_dir() and directory.name.isdecimal():
            yield _read(state_dir, directory)


def _by_number(directory: Path) -> tuple[str, str, int]:
    number = int(directory.name) if directory.name.isdecimal() else -1
    return directory.parent.parent.name, directory.parent.name, number


def _read(state_dir: Path, directory: Path) -> StoredPartition:
    application_id, table, partition = directory.relative_to(state_dir).parts
    seen = StoredPartition(application_id, table, int(partition), directory, _size(directory))
    if (holder := holder_of(directory)) is not None:
        return replace(seen, holder=holder)
    if not (directory / STORE_DIRECTORY / _MARK_OF_ROCKSDB).is_file():
        return seen  # not ours to open: a user's own store
    lock = StateDirectory(state_dir, application_id, table, SYSTEM_CLOCK)
    store: Store = RocksDBStore(directory / STORE_DIRECTORY)
    try:
        lock.acquire(int(partition))
        store.open()
        if keeps_versions(store):
            store = VersionedStore(store)
            store.open()
        checkpoint = decode_checkpoint(store.checkpoint())
        return replace(seen, checkpoint=checkpoint, keys=store.count())
    except LastwordError as error:
        return replace(seen, problem=str(error))
    finally:
        store.close()
        lock.release()


def _size(directory: Path) -> int:
    size = 0
    for file in directory.rglob("*"):
        try:
            size += file.stat().st_size if file.is_file() else 0
        except FileNotFoundError:
            continue  # a running store replaces its files
    return size


def _print_tree(app: AppContext, states: list[StoredPartition]) -> None:
    from rich.text import Text
    from rich.tree import Tree

    root = Tree(Text(str(app.state_dir)))
    for application_id, of_application in groupby(states, key=lambda each: each.application_id):
        application = root.add(Text(application_id))
        for name, of_table in groupby(of_application, key=lambda each: each.table):
            table = application.add(Text(name))
            for each in of_table:
                table.add(Text(each.as_line()))
    app.output.console().print(root, soft_wrap=True)
