"""RocksDB's own counts of the bytes it moved, read out of its statistics."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rocksdict import Options

_TICKER = re.compile(r"^(rocksdb\.[\w.]+) COUNT : (\d+)$", re.MULTILINE)

_NAMES: Mapping[str, tuple[str, ...]] = {
    "bytes_read_total": (
        "rocksdb.bytes.read",
        "rocksdb.number.multiget.bytes.read",
        "rocksdb.db.iter.bytes.read",
    ),
    "bytes_written_total": ("rocksdb.bytes.written",),
    "compaction_bytes_read_total": ("rocksdb.compact.read.bytes",),
    "compaction_bytes_written_total": ("rocksdb.compact.write.bytes",),
}


def tickers(options: Options) -> dict[str, int]:
    """The bytes since the store was opened; ``options`` are those it was opened with."""
    counted = {name: int(count) for name, count in _TICKER.findall(options.get_statistics() or "")}
    return {name: sum(counted.get(each, 0) for each in summed) for name, summed in _NAMES.items()}
