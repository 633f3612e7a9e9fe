"""A table as it was at a past moment: read once, held in memory, never changing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lastword.errors import ConfigError
from lastword.kafka.partitioner import partition_for
from lastword.records import Position
from lastword.snapshots.time_travel import Past
from lastword.table.decoder import Decoder
from lastword.table.entry import Entry


class PastTable:
    """Reads of one past moment, as ``Table.as_of`` gives them. Safe to use from any thread.

    ``position`` is what it reflects. It may name some partitions only, as that of a version does;
    asking for a key of another one raises ConfigError.
    """

    def __init__(self, past: Past, decoder: Decoder, partitions: int) -> None:
        self.position: Position = past.position
        self._rows = past.rows
        self._decoder = decoder
        self._partitions = partitions

    def entry(self, key: Any) -> Entry | None:
        """The value with its version, timestamp and headers, or None."""
        raw = self._decoder.key.encode(key)
        partition = partition_for(raw, self._partitions, self._decoder.key.suffix_bytes)
        if partition not in self._rows:
            raise ConfigError(
                f"{key!r} is in partition {partition}, which {self.position} does not name",
                hint="give a position of all partitions, or a time",
            )
        row = self._rows[partition].get(raw)
        return None if row is None else self._decoder.entry(partition, raw, row)

    def get(self, key: Any, default: Any = None) -> Any:
        """The value that ``key`` had, or ``default``."""
        entry = self.entry(key)
        return default if entry is None else entry.value

    def __getitem__(self, key: Any) -> Any:
        entry = self.entry(key)
        if entry is None:
            raise KeyError(key)
        return entry.value

    def __contains__(self, key: Any) -> bool:
        return self.entry(key) is not None

    def __len__(self) -> int:
        return sum(len(rows) for rows in self._rows.values())

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self.items())

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Every key and value in key order."""
        raws = sorted((raw, p, row) for p, rows in self._rows.items() for raw, row in rows.items())
        for raw, partition, row in raws:
            entry = self._decoder.entry(partition, raw, row)
            if entry is not None:
                yield entry.key, entry.value
