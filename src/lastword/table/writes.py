"""The writing half of a table: encodes, hands to the writer, reports an outcome per key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from time import perf_counter_ns
from typing import Any, Final

from lastword.errors import LastwordError
from lastword.kafka.write.producer import Outgoing
from lastword.metrics import Latency, Metrics
from lastword.records import NO_HEADERS, Headers, Version
from lastword.table.decoder import Decoder
from lastword.writer.outcome import Outcome
from lastword.writer.writer import Writer


class Tombstone(Enum):
    """The type of TOMBSTONE, which stands for a delete among the values of ``put_many``."""

    TOMBSTONE = "TOMBSTONE"


TOMBSTONE: Final = Tombstone.TOMBSTONE


class Writes:
    """Encodes with the table's codecs and writes; safe to use from any thread."""

    def __init__(self, writer: Writer, decoder: Decoder, metrics: Metrics) -> None:
        self._writer = writer
        self._key = decoder.key
        self._value = decoder.value
        self._put_latency = metrics.latency("put")
        self._delete_latency = metrics.latency("delete")
        self._put_many_latency = metrics.latency("put_many")

    def put(self, key: Any, value: Any, headers: Headers, timestamp_ms: int | None) -> Version:
        """Write one value."""
        record = self._record(key, value, headers, timestamp_ms)
        return self._write_one(record, self._put_latency)

    def delete(self, key: Any, headers: Headers, timestamp_ms: int | None) -> Version:
        """Write one tombstone."""
        record = self._record(key, TOMBSTONE, headers, timestamp_ms)
        return self._write_one(record, self._delete_latency)

    def put_many(self, items: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> list[Outcome]:
        """Write many; a record that cannot be encoded fails alone."""
        started_ns = perf_counter_ns()
        pairs = list(items.items() if isinstance(items, Mapping) else items)
        outcomes: list[Outcome | None] = []
        records: list[Outgoing] = []
        for key, value in pairs:
            try:
                records.append(self._record(key, value, NO_HEADERS, None))
                outcomes.append(None)
            except LastwordError as error:
                outcomes.append(Outcome(key, error=error))
        deliveries = iter(self._writer.write(records))
        settled: list[Outcome] = []
        for (key, _), outcome in zip(pairs, outcomes, strict=True):
            if outcome is None:
                delivery = next(deliveries)
                outcome = Outcome(key, delivery.version, delivery.error)  # noqa: PLW2901
            settled.append(outcome)
        self._put_many_latency.observe_ns(perf_counter_ns() - started_ns)
        return settled

    def _record(self, key: Any, value: Any, headers: Headers, timestamp_ms: int | None) -> Outgoing:
        raw_value = None if value is TOMBSTONE else self._value.encode(value)
        return Outgoing(self._key.encode(key), raw_value, tuple(headers), timestamp_ms)

    def _write_one(self, record: Outgoing, latency: Latency) -> Version:
        started_ns = perf_counter_ns()
        version = self._writer.write_one(record)
        latency.observe_ns(perf_counter_ns() - started_ns)
        return version
