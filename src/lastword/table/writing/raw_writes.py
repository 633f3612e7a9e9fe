"""The plain and conditional writes of a table, in bytes."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns

from lastword.keyspace import Keyspace
from lastword.metrics import Metrics
from lastword.records import Version, Write
from lastword.rows import offset_of
from lastword.table.entry import raw_entry
from lastword.table.scan import Shape
from lastword.table.serving import Serving
from lastword.writer.outcome import Outcome
from lastword.writer.owned.conflicts import Conflict
from lastword.writer.write_path import WritePath


class RawWrites:
    """Writes records to partitions that are here and ready. Safe to use from any thread."""

    def __init__(
        self, writer: WritePath, serving: Serving, keyspace: Keyspace, metrics: Metrics
    ) -> None:
        self._writer = writer
        self._serving = serving
        self._keyspace = keyspace
        self._put_latency = metrics.latency("put")
        self._delete_latency = metrics.latency("delete")
        self._put_many_latency = metrics.latency("put_many")

    def put(self, record: Write) -> Version:
        """Write one record; raises the error of its outcome."""
        self._serving.admit_write((record.key,))
        latency = self._delete_latency if record.value is None else self._put_latency
        started_ns = perf_counter_ns()
        (outcome,) = self._writer.write([record])
        version = with_current(outcome, record.key, self._keyspace, raw_entry).raise_or_version()
        latency.observe_ns(perf_counter_ns() - started_ns)
        return version

    def put_many(self, records: Sequence[Write]) -> list[Outcome]:
        """Write a batch; returns one outcome per record, in order."""
        self._serving.admit_write(record.key for record in records)
        started_ns = perf_counter_ns()
        outcomes = self._writer.write(records)
        self._put_many_latency.observe_ns(perf_counter_ns() - started_ns)
        return [with_current(each, each.key, self._keyspace, raw_entry) for each in outcomes]


def with_current(outcome: Outcome, key: bytes, keyspace: Keyspace, shape: Shape[object]) -> Outcome:
    """The outcome; a conflict's error gets the key's current row, converted by ``shape``."""
    if isinstance(outcome, Conflict) and outcome.row is not None:
        partition = keyspace.partition_of(key)
        outcome.error.current = shape(partition, key, outcome.row)
        outcome.error.version = Version(partition, offset_of(outcome.row))
    return outcome
