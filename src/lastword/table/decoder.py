"""Raw rows and records to values, with the chosen policy for those that cannot be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any, Literal, get_args

from lastword.codecs.base import Codec, KeyCodec
from lastword.codecs.batches import check_batch, decode_batch
from lastword.errors import ConfigError, DecodeError, RegistryError
from lastword.many_rows import plain_values
from lastword.metrics import Counter
from lastword.records import Headers, Record, Validate, Version
from lastword.rows import (
    PLAIN_ROW,
    PREFIX_BYTES,
    decode_row,
    encode_row,
    headers_and_value_of,
    offset_of,
)
from lastword.table.entry import Change, Entry, PartitionRows, RawEntry

_BAD = object()

BadRecordPolicy = Literal["fail", "skip", "quarantine"]


class Decoder:
    """Decodes with one table's codecs.

    fail        a read of a bad record raises DecodeError, which names the record
    skip        a bad record reads as if its key were absent
    quarantine  bad records never reach the store: the key keeps its last good value
    """

    def __init__(
        self,
        topic: str,
        key: KeyCodec[Any],
        value: Codec[Any],
        policy: BadRecordPolicy,
        skipped: Counter,
    ) -> None:
        if policy not in get_args(BadRecordPolicy):
            raise ConfigError(
                f"on_bad={policy!r} is not a policy",
                hint=f"use one of {', '.join(get_args(BadRecordPolicy))}",
            )
        self.key = key
        self.value = value
        self.policy = policy
        self._topic = topic
        self._skipped = skipped

    def entry(self, partition: int, raw_key: bytes, row: bytes) -> Entry | None:
        """The row as a value; None when it is bad and the policy is not to fail."""
        offset, timestamp_ms, headers, raw_value, expires_at_ms = decode_row(row)
        try:
            return Entry(
                *self._read(raw_key, raw_value, headers),
                Version(partition, offset),
                timestamp_ms,
                headers,
                expires_at_ms,
            )
        except DecodeError as error:
            self.handle_bad(error, partition, offset)
            return None

    def pair(self, partition: int, raw_key: bytes, row: bytes) -> tuple[Any, Any] | None:
        """Only key and value of the row; None as for ``entry``."""
        try:
            headers, raw_value = headers_and_value_of(row)
            return self._read(raw_key, raw_value, headers)
        except DecodeError as error:
            self.handle_bad(error, partition, offset_of(row))
            return None

    def entry_of(self, raw: RawEntry) -> Entry | None:
        """The same of an entry in bytes."""
        row = encode_row(raw.version.offset, raw.timestamp_ms, raw.headers, raw.value)
        return self.entry(raw.version.partition, raw.key, row)

    def row_value(self, partition: int, row: bytes, default: Any) -> Any:
        """Only the value of the row; the default when it is bad and the policy is not to fail."""
        try:
            if row[0] == PLAIN_ROW:  # nearly every row, and a call for each would be felt
                return self.value.decode(row[PREFIX_BYTES:])
            headers, raw_value = headers_and_value_of(row)
            return self.value_of(raw_value, headers)
        except DecodeError as error:
            self.handle_bad(error, partition, offset_of(row))
            return default

    def values(self, found: PartitionRows) -> tuple[list[bytes], list[Any]]:
        """The raw keys and the values of many rows, except those that ``entry`` skips."""
        data = plain_values(found.rows, PLAIN_ROW)
        decoded = None if data is None else decode_batch(self.value, data)
        if decoded is not None and not decoded.bad:
            return found.keys, decoded.values
        # Rare: rows with headers, which may hold the id of a schema, and bad ones.
        values = [self.row_value(found.partition, row, _BAD) for row in found.rows]
        good = [value is not _BAD for value in values]
        return list(compress(found.keys, good)), list(compress(values, good))

    def change(self, record: Record) -> Change | None:
        """The record as a change; None when it is bad and the policy is not to fail."""
        deleted = record.value is None
        try:
            return Change(
                self.key.decode(self.key.joined(record.key or b"", record.headers)),
                None if record.value is None else self.value_of(record.value, record.headers),
                deleted,
                Version(record.partition, record.offset),
                record.timestamp_ms,
                record.headers,
            )
        except DecodeError as error:
            self.handle_bad(error, record.partition, record.offset)
            return None

    def value_of(self, raw_value: bytes, headers: Headers) -> Any:
        """The value of a record; raises DecodeError."""
        value = self.value
        return value.decode(value.joined(raw_value, headers) if headers else raw_value)

    def json_of(self, raw_value: bytes, headers: Headers) -> bytes:
        """The same as a JSON document."""
        return self.value.to_json(self.value.joined(raw_value, headers))

    def swept(self, raw_key: bytes) -> Change | None:
        """The delete of a key that a sweep dropped; None as for ``change``."""
        try:
            return Change(self.key.decode(raw_key), None, True, None, None, ())
        except DecodeError:
            if self.policy == "fail":
                raise
            self._skipped.add()
            return None

    def _read(self, raw_key: bytes, raw_value: bytes, headers: Headers) -> tuple[Any, Any]:
        """Key and value; the ids of their schemas may be in the headers."""
        if not headers:
            return self.key.decode(raw_key), self.value.decode(raw_value)
        key = self.key.decode(self.key.joined(raw_key, headers))
        return key, self.value_of(raw_value, headers)

    def validator(self) -> Validate | None:
        """The check that a follower makes before it applies a record, if the policy needs one."""
        return self._why_bad if self.policy == "quarantine" else None

    def _why_bad(
        self, keys: Sequence[bytes], values: Sequence[bytes], headers: Sequence[Headers]
    ) -> dict[int, str]:
        found: dict[int, str] = {}
        for codec, data in ((self.value, values), (self.key, keys)):
            joined = data if codec.id_header is None else _joined(codec, data, headers)
            found.update((i, str(error)) for i, error in _bad_of(codec, joined).items())
        return found

    def handle_bad(self, error: DecodeError, partition: int, offset: int) -> None:
        """Raise the error with the record's offset, or count it, as the policy says."""
        if self.policy == "fail":
            raise DecodeError(
                error.reason,
                topic=self._topic,
                partition=partition,
                offset=offset,
                hint="write a good value for the key, delete it, or open the table with "
                "on_bad='skip' or on_bad='quarantine'",
            ) from error
        self._skipped.add()


def _joined(
    codec: Codec[Any], data: Sequence[bytes], headers: Sequence[Headers]
) -> Sequence[bytes]:
    if not any(headers):
        return data
    pairs = zip(data, headers, strict=True)
    return [codec.joined(each, its) if its else each for each, its in pairs]


def _bad_of(codec: Codec[Any], data: Sequence[bytes]) -> Mapping[int, DecodeError]:
    """Why some of the data is bad. What needs a registry that does not answer is not: it is
    decoded and checked when it is read."""
    try:
        return check_batch(codec, data)
    except RegistryError:
        pass  # one by one: the registry is needed for some of the data only
    found: dict[int, DecodeError] = {}
    for i, each in enumerate(data):
        try:
            codec.decode(each)
        except DecodeError as error:
            found[i] = error
        except RegistryError:
            continue
    return found
