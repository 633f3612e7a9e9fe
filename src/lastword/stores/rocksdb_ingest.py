"""Many changes as one sorted file, which a database ingests as a whole."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from rocksdict import IngestExternalFileOptions, Rdict, SstFileWriter

from lastword.native import NATIVE
from lastword.stores.rocksdb_cursor import CHECKPOINT_KEY
from lastword.stores.rocksdb_memory import memory_budget
from lastword.stores.rocksdb_options import ingested_file_options


def sorted_items(
    changes: Mapping[bytes, bytes | None],
) -> tuple[list[bytes], list[bytes | None]]:
    """The keys in order with their rows; in Python."""
    keys = sorted(changes)
    return keys, [changes[key] for key in keys]


# Measured: a third of the time in C.
_sorted_items = sorted_items if NATIVE is None else NATIVE.sorted_items


def ingest(
    database: Rdict,
    file: Path,
    puts: Mapping[bytes, bytes],
    deletes: Collection[bytes],
    checkpoint: bytes,
) -> int:
    """Write rows and checkpoint and remove keys in one atomic step; returns the bytes written."""
    changes: Mapping[bytes, bytes | None] = puts
    if deletes or not isinstance(puts, dict):
        changes = {**dict.fromkeys(deletes), **puts}
    writer = SstFileWriter(ingested_file_options(memory_budget()))
    writer.open(str(file))
    writer[CHECKPOINT_KEY] = checkpoint  # the empty key: it comes before every other
    for key, row in zip(*_sorted_items(changes), strict=True):
        if row is None:
            del writer[key]
        else:
            writer[key] = row
    writer.finish()
    size = file.stat().st_size
    options = IngestExternalFileOptions()
    options.set_move_files(True)
    database.ingest_external_file([str(file)], options)
    return size
