"""The snapshots of one topic: list, sizes and deletion."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from lastword.codecs.columns.type_tree import ColumnType
from lastword.errors import SnapshotError
from lastword.snapshots.catalog.column_changes import held_columns
from lastword.snapshots.catalog.snapshot import Snapshot, decode_confirmation, decode_metadata

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_ORPHANS_AFTER_HOURS = 24
"""Files without a commit belong to a killed job, or to one that still runs."""


@dataclass(frozen=True)
class SnapshotSize:
    """What a snapshot holds."""

    rows: int
    files: int
    size_bytes: int


class Catalog:
    """Reads the log of a Delta table of snapshots; needs no JVM."""

    def __init__(self, uri: str) -> None:
        self.uri = uri

    def snapshots(self) -> list[Snapshot]:
        """Every snapshot whose files are kept, the newest first; empty before the first one."""
        table = self.table()
        if table is None:
            return []
        found: list[Snapshot] = []
        exact: set[str | None] = set()  # a confirmation is newer than what it confirms
        with delta_errors(self.uri):
            for entry in table.history():
                text, delta_version = entry.get("userMetadata"), entry["version"]
                exact.add(decode_confirmation(text))
                metadata = decode_metadata(text)
                if metadata is not None:
                    is_exact = metadata.run_id in exact
                    found.append(Snapshot(metadata, delta_version, entry["timestamp"], is_exact))
        return found[: self._kept(found)]

    def newest(self) -> Snapshot | None:
        """The newest snapshot, or None."""
        return next(iter(self.snapshots()), None)

    def size(self, snapshot: Snapshot) -> SnapshotSize:
        """From the Delta log alone; no file is opened."""
        actions = self._at(snapshot.delta_version).get_add_actions(flatten=True)
        files = pa.table(actions).select(["num_records", "size_bytes"]).to_pydict()
        return SnapshotSize(
            rows=sum(files["num_records"]),
            files=len(files["size_bytes"]),
            size_bytes=sum(files["size_bytes"]),
        )

    def columns(self, snapshot: Snapshot) -> dict[str, ColumnType]:
        """The columns that a snapshot has."""
        return held_columns(self._at(snapshot.delta_version))

    def vacuum(self) -> int:
        """Delete the files that no kept snapshot needs; returns how many."""
        kept = [snapshot.delta_version for snapshot in self.snapshots()]
        table = self.table()
        if table is None or not kept:
            return 0
        with delta_errors(self.uri):
            gone = table.vacuum(
                0, dry_run=False, enforce_retention_duration=False, keep_versions=kept
            )
            orphans = table.vacuum(
                _ORPHANS_AFTER_HOURS,
                dry_run=False,
                enforce_retention_duration=False,
                full=True,
                keep_versions=kept,
            )
        return len(gone) + len(orphans)

    def table(self) -> DeltaTable | None:
        """The Delta table as it is now, or None when there is none."""
        try:
            with delta_errors(self.uri):
                return DeltaTable(self.uri)
        except TableNotFoundError:
            return None

    def _at(self, delta_version: int) -> DeltaTable:
        with delta_errors(self.uri):
            return DeltaTable(self.uri, version=delta_version)

    @staticmethod
    def _kept(newest_first: Sequence[Snapshot]) -> int:
        """How many to keep: the newest, and each that was the newest within the time to keep."""
        if not newest_first:
            return 0
        newest = newest_first[0]
        oldest_ms = newest.committed_at_ms - newest.metadata.keep_ms
        # A snapshot is useful until the next one exists.
        return 1 + sum(1 for after in newest_first[:-1] if after.committed_at_ms >= oldest_ms)


@contextmanager
def delta_errors(uri: str) -> Iterator[None]:
    """Turn read errors of deltalake and Arrow into SnapshotError, except for absence."""
    try:
        yield
    except TableNotFoundError:
        raise
    except (DeltaError, OSError, pa.ArrowException, ValueError) as error:
        raise unreadable(uri, error) from error


def unreadable(uri: str, error: Exception) -> SnapshotError:
    """The error in one line: deltalake prints a colored tree of causes."""
    causes = " ".join(_COLOURS.sub("", str(error)).replace("↳", ":").split()).replace(" : ", ": ")
    return SnapshotError(
        f"{uri} cannot be read: {causes}",
        hint="it is damaged, or this process may not read it; a full snapshot replaces it",
    )
