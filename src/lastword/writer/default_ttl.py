"""The default time to live of a table's values."""

from __future__ import annotations

from collections.abc import Sequence

from lastword.records import Write
from lastword.writer.outcome import Outcome
from lastword.writer.write_path import WritePath


class DefaultTtl:
    """A WritePath on top of another: values without a time to live get ``ttl_ms``."""

    def __init__(self, path: WritePath, ttl_ms: int) -> None:
        self._path = path
        self._ttl_ms = ttl_ms

    def write(self, records: Sequence[Write]) -> list[Outcome]:
        """Write values that expire, and tombstones as they are."""
        return self._path.write([self._living(record) for record in records])

    def close(self) -> None:
        """Close the path below; idempotent."""
        self._path.close()

    def _living(self, record: Write) -> Write:
        if record.value is None or record.ttl_ms is not None:
            return record
        return record._replace(ttl_ms=self._ttl_ms)
