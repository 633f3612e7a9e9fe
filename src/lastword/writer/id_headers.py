"""Writes the schema ids of values to headers."""

from __future__ import annotations

from collections.abc import Sequence

from lastword.codecs.split import Split
from lastword.records import Write
from lastword.writer.outcome import Outcome
from lastword.writer.write_path import WritePath


class IdHeaders:
    """A WritePath on top of another: the codec's ``split`` makes the record of each value."""

    def __init__(self, path: WritePath, split: Split) -> None:
        self._path = path
        self._split = split

    def write(self, records: Sequence[Write]) -> list[Outcome]:
        """Write values with their ids in headers, and tombstones as they are."""
        return self._path.write([with_id_header(record, self._split) for record in records])

    def close(self) -> None:
        """Close the path below; idempotent."""
        self._path.close()


def with_id_header(record: Write, split: Split) -> Write:
    """The record that is written; the same one if there is nothing to split."""
    if record.value is None:
        return record
    value, headers = split(record.value, record.headers)
    return record._replace(value=value, headers=headers)
