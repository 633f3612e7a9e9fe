"""What changed from one snapshot to the next."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lastword.snapshots.catalog.snapshot import Snapshot
from lastword.snapshots.travel.delta_reads import read_batches

_COLUMNS = ("key", "offset")
_SCHEMA = pa.schema([("key", pa.large_binary()), ("offset", pa.int64())])


@dataclass(frozen=True)
class Difference:
    """Keys by kind of change."""

    added: int
    changed: int
    removed: int


def difference(uri: str, before: Snapshot, after: Snapshot) -> Difference:
    """Compare two snapshots of one Delta table, a partition at a time."""
    added = changed = removed = 0
    for partition in after.metadata.offsets:
        old, new = (_versions(uri, each, partition) for each in (before, after))
        in_both = pc.is_in(new["key"], value_set=old["key"].combine_chunks())
        kept = _count(in_both)
        # A record has an offset of its own, so a row is unchanged exactly if its offset is.
        same = _count(pc.is_in(new["offset"], value_set=old["offset"].combine_chunks()))
        added += new.num_rows - kept
        changed += kept - same
        removed += old.num_rows - kept
    return Difference(added, changed, removed)


def _versions(uri: str, snapshot: Snapshot, partition: int) -> pa.Table:
    batches = list(read_batches(uri, snapshot.delta_version, partition, _COLUMNS))
    return pa.Table.from_batches(batches, _SCHEMA) if batches else _SCHEMA.empty_table()


def _count(flags: pa.ChunkedArray) -> int:
    return int(pc.sum(flags).as_py() or 0)
