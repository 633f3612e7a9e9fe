"""How soon a committed change can be read: in the topic of change events, and in the table."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
import psycopg
from arena.processor_time import used_s

from captures.lab import ROW, CaptureLab
from captures.sightings import Sightings, seen_in_table, seen_in_topic

_WARM_SECONDS = 15
_PATIENCE_S = 600.0


def followed(lab: CaptureLab, mode: str, rate: int, seconds: int) -> dict[str, Any]:
    """The latencies of single inserts at a steady rate, after a warm-up."""
    name = f"followed_{mode.replace('-', '_')}_{rate}"
    lab.fill(name, 0)
    written = Sightings()
    with ExitStack() as running:
        source = running.enter_context(lab.captured(name))
        pid = running.enter_context(lab.mirrored(name, mode))
        topic = running.enter_context(seen_in_topic(lab.connection, source.topic))
        table = running.enter_context(seen_in_table(lab.connection, name))
        warm = rate * _WARM_SECONDS
        _insert(lab, name, range(warm), rate, written)
        _wait(lambda: len(table.at) >= warm, f"{warm} rows are in the table")
        measured = range(warm, warm + rate * seconds)
        used, began = used_s(pid), time.monotonic()
        _insert(lab, name, measured, rate, written)
        _wait(lambda: len(table.at) >= measured.stop, "all rows are in the table")
        cores = (used_s(pid) - used) / (time.monotonic() - began)
    return {
        "mode": mode,
        "rate": rate,
        "changes": len(measured),
        "cores": cores,
        **_percentiles("debezium", written, topic, measured),
        **_percentiles("table", written, table, measured),
        **_percentiles("added", topic, table, measured),
    }


def _percentiles(who: str, before: Sightings, after: Sightings, rows: range) -> dict[str, float]:
    p50, p99 = np.percentile([(after.at[i] - before.at[i]) * 1000 for i in rows], [50, 99])
    return {f"{who}_p50_ms": float(p50), f"{who}_p99_ms": float(p99)}


def _insert(lab: CaptureLab, name: str, rows: range, rate: int, written: Sightings) -> None:
    """Each row in a transaction of its own; its time is the moment before it is sent."""
    values = ROW.replace("%", "%%")
    statement = f"INSERT INTO {name} SELECT {values} FROM (SELECT %s::bigint AS i) AS one"  # noqa: S608
    with psycopg.connect(lab.url, autocommit=True) as database:
        # The disk of this machine is not what is measured.
        database.execute("SET synchronous_commit = off")
        started = time.perf_counter()
        for number, row in enumerate(rows):
            due = started + number / rate - time.perf_counter()
            if due > 0:
                time.sleep(due)
            written.at[row] = time.perf_counter()
            database.execute(statement.encode(), (row,), prepare=True)


def _wait(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"not in time: {what}")
        time.sleep(0.05)
