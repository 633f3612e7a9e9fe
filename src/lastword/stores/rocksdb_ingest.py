"""Many changes as one sorted file, which a database takes in as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from pathlib import Path

from rocksdict import IngestExternalFileOptions, Rdict, SstFileWriter

from lastword.stores.rocksdb_memory import memory_budget
from lastword.stores.rocksdb_options import ingested_file_options


def ingest(database: Rdict, file: Path, changes: Mapping[bytes, bytes | None]) -> int:
    """Write rows, and remove those that are None, in one atomic step; returns bytes written."""
    writer = SstFileWriter(ingested_file_options(memory_budget()))
    writer.open(str(file))
    for key, row in sorted(changes.items(), key=itemgetter(0)):
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
