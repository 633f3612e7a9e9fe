"""How fast all rows of a table are copied."""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from captures.lab import CaptureLab
from lastword.kafka.connection import Connection

_PATIENCE_S = 1800.0


def copied(lab: CaptureLab, rows: int, mode: str) -> dict[str, Any]:
    """Rows a second.

    debezium   into the topic of change events, nothing else runs
    pipeline   from that topic into the table, Debezium has ended
    both       from the database into the table, the pipeline runs before the connector starts
    """
    lab.fill("copied_alone", rows)
    started = time.perf_counter()
    with lab.captured("copied_alone") as table:
        _read(lab.connection, table.topic, rows)
        debezium = time.perf_counter() - started
    with lab.mirrored("copied_alone", mode):
        started = time.perf_counter()
        _read(lab.connection, table.name, rows)
        pipeline = time.perf_counter() - started
    lab.fill("copied_both", rows)
    with lab.mirrored("copied_both", mode):
        started = time.perf_counter()
        with lab.captured("copied_both") as table:
            _read(lab.connection, table.name, rows)
            both = time.perf_counter() - started
    seconds = {"debezium": debezium, "pipeline": pipeline, "both": both}
    return {"rows": rows, "mode": mode, **{who: rows / taken for who, taken in seconds.items()}}


def _read(connection: Connection, topic: str, rows: int) -> None:
    """Returns when so many committed records can be read."""
    settings = {"group.id": "count", "isolation.level": "read_committed"}
    consumer = Consumer(connection.librdkafka() | settings)
    consumer.assign([TopicPartition(topic, 0, 0)])
    found, deadline = 0, time.monotonic() + _PATIENCE_S
    while found < rows:
        found += sum(each.error() is None for each in consumer.consume(10_000, 0.2))
        if time.monotonic() > deadline:
            raise SystemExit(f"{found:,} of {rows:,} rows came in time")
    consumer.close()
