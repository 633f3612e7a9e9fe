"""Turns a batch of the log into what a store is to do, a column at a time.

Only the last record of each key in a batch matters. Records that cannot belong to a table (no
key, wrong partition) are left out and counted, never applied and never fatal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import itemgetter

from lastword.errors import TopicUnfitError
from lastword.keyspace import Keyspace
from lastword.records import INSTANCE_HEADER, NO_HEADERS, Batch, Header, Headers, Record
from lastword.replicas.apply.checkpoint import Quarantined
from lastword.rows import PLAIN_ROW, encode_row, pack_prefix

Validate = Callable[[bytes, bytes], str | None]
"""(key, value) -> why the record is bad, or None."""


@dataclass(slots=True)
class FilteredBatch:
    """What a batch comes to: disjoint puts and deletes, and what was left out."""

    puts: dict[bytes, bytes]
    deletes: list[bytes]
    keyless: int = 0
    misplaced: int = 0
    quarantined: list[Quarantined] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """The rules of one topic; the same for each of its partitions.

    ``owner`` is the header that every record must carry where only this application may write.
    With ``takes_empty_keys`` an empty key is one like any other: tables have none, pipelines may.
    """

    keyspace: Keyspace
    validate: Validate | None = None
    owner: Header | None = None
    takes_empty_keys: bool = False

    def filtered(self, batch: Batch) -> FilteredBatch:
        """Decide a whole batch at once."""
        if self.owner is not None:
            self._refuse_foreign(batch, self.owner)
        return self._plain(batch) or self._careful(batch)

    def records_of_table(self, batch: Batch) -> Iterator[Record]:
        """The records that belong to the table, every change of a key among them."""
        left_out = self.left_out(batch)
        for i, record in enumerate(batch.records()):
            if record.key and i not in left_out:
                yield record._replace(headers=self._unmarked(record.headers))

    def left_out(self, batch: Batch) -> set[int]:
        """The indexes of the records with a key that belongs to another partition."""
        keyed = [key or b"\0" for key in batch.keys]
        return set(self.keyspace.misplaced(keyed, batch.partition).tolist())

    def _plain(self, batch: Batch) -> FilteredBatch | None:
        """Only puts, no headers, nothing to leave out: nearly every batch of a restore."""
        keys, values = batch.keys, batch.values
        if (
            self.validate is not None
            or None in values
            or None in keys
            or b"" in keys
            or batch.headers.count(None) != len(keys)
            or len(self.keyspace.misplaced(keys, batch.partition))  # type: ignore[arg-type]
        ):
            return None
        rows = [
            pack_prefix(PLAIN_ROW, offset, timestamp) + value  # type: ignore[operator]
            for offset, timestamp, value in zip(
                batch.offsets, batch.timestamps, values, strict=True
            )
        ]
        return FilteredBatch(dict(zip(keys, rows, strict=True)), [])  # type: ignore[arg-type]

    def _careful(self, batch: Batch) -> FilteredBatch:
        """The same for any batch, record by record where it must be."""
        values, offsets, timestamps = batch.values, batch.offsets, batch.timestamps
        last = dict(zip(batch.keys, range(len(batch.keys)), strict=True))
        if self.owner is not None:
            # A store that evicts goes by the order of use: that of each key's last record.
            last = dict(sorted(last.items(), key=itemgetter(1)))
        keyless = _drop_keyless(last, batch, (None,) if self.takes_empty_keys else (None, b""))
        strays = _drop_misplaced(last, batch, self.keyspace)
        bad = self._drop_bad(last, batch) if self.validate else []
        puts: dict[bytes, bytes] = {}
        deletes: list[bytes] = []
        for key, i in last.items():
            value = values[i]
            if value is None:
                deletes.append(key)  # type: ignore[arg-type]
            else:
                headers = self._unmarked(batch.headers[i] or NO_HEADERS)
                puts[key] = encode_row(offsets[i], timestamps[i], headers, value)  # type: ignore[index]
        return FilteredBatch(puts, deletes, keyless, strays, bad)

    def _unmarked(self, headers: Headers) -> Headers:
        """The headers as the user gave them, without the owner's marks."""
        if self.owner is None:
            return headers
        return tuple(h for h in headers if h != self.owner and h[0] != INSTANCE_HEADER)

    def _refuse_foreign(self, batch: Batch, owner: Header) -> None:
        for offset, headers in zip(batch.offsets, batch.headers, strict=True):
            if owner not in (headers or NO_HEADERS):
                raise TopicUnfitError(
                    f"the record at partition {batch.partition}, offset {offset} was not written "
                    "by this table, which evicts keys and must be the topic's only writer",
                    hint="give the table a topic of its own, or use another store",
                )

    def _drop_bad(self, last: dict[bytes | None, int], batch: Batch) -> list[Quarantined]:
        """Take out values that cannot be read; the last good record of the key stands instead."""
        suspects = {key for key, i in last.items() if self._reason(batch, i) is not None}
        history: dict[bytes | None, list[int]] = {key: [] for key in suspects}
        for i, key in enumerate(batch.keys if suspects else ()):
            if key in suspects:
                history[key].append(i)
        bad: list[Quarantined] = []
        for key, indexes in history.items():
            del last[key]
            for i in reversed(indexes):
                reason = self._reason(batch, i)
                if reason is None:
                    last[key] = i
                    break
                bad.append(Quarantined(batch.partition, batch.offsets[i], key or b"", reason))
        return bad

    def _reason(self, batch: Batch, i: int) -> str | None:
        key, value = batch.keys[i], batch.values[i]
        if value is None or self.validate is None:
            return None
        return self.validate(key or b"", value)


def _drop_keyless(
    last: dict[bytes | None, int], batch: Batch, refused: tuple[bytes | None, ...]
) -> int:
    """Take refused keys out: null, and empty ones, which no broker refuses."""
    keyless = 0
    for key in refused:
        if last.pop(key, None) is not None:
            keyless += sum(1 for other in batch.keys if other == key)
    return keyless


def _drop_misplaced(last: dict[bytes | None, int], batch: Batch, keyspace: Keyspace) -> int:
    """Take out keys that do not belong here: their other half lives in the right partition."""
    keys = list(last)
    strays = {keys[i] for i in keyspace.misplaced(keys, batch.partition)}  # type: ignore[arg-type]
    for key in strays:
        del last[key]
    return sum(1 for key in batch.keys if key in strays) if strays else 0
