"""How soon another client's acknowledged write can be read in a table, at a steady rate of writes.

python benchmarks/freshness.py            on an embedded broker of its own
python benchmarks/freshness.py --quick    a smoke test with small numbers
"""

from __future__ import annotations

import argparse
import threading
import time

import numpy as np
from arena import report
from arena.cluster import cluster
from confluent_kafka import Producer

import lastword as lw
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection

PARTITIONS = 4
_PATIENCE_S = 60.0
_TICK_S = 0.001
_KEYS = 1_000


class Writes:
    """A client of its own; knows when each of its writes was acknowledged."""

    def __init__(self, servers: str, topic: str) -> None:
        self.acknowledged_at: dict[bytes, float] = {}
        self._topic = topic
        settings = {"bootstrap.servers": servers, "acks": "all", "linger.ms": 0}
        self._producer = Producer(settings | {"partitioner": "murmur2_random"})

    def run(self, rate: int, seconds: int) -> None:
        """Write at a steady rate; each value is written once."""
        started, sent, count = time.perf_counter(), 0, rate * seconds
        while sent < count:
            due = min(count, int((time.perf_counter() - started) * rate) + 1)
            for number in range(sent, due):
                value = b"%d" % number
                self._producer.produce(
                    self._topic, value, b"key-%d" % (number % _KEYS), on_delivery=self._note
                )
            sent = due
            self._producer.poll(_TICK_S)
        if left := self._producer.flush(_PATIENCE_S):
            raise SystemExit(f"{left} writes were not acknowledged")

    def _note(self, error: object, message: object) -> None:
        if error is None:
            self.acknowledged_at[message.value()] = time.perf_counter()  # type: ignore[attr-defined]


def freshness(servers: str, *, store: str, rate: int, seconds: int) -> dict[str, float]:
    """Milliseconds from the acknowledgement to the moment at which the table has the row."""
    topic = f"bench-freshness-{store}-{int(time.time())}"
    with Admin(Connection(bootstrap_servers=servers)) as admin:
        settings = {"cleanup.policy": "compact"}
        admin.create(topic, partitions=PARTITIONS, replication=1, settings=settings)
    seen_at: dict[bytes, float] = {}
    count = rate * seconds
    with lw.Table(topic, bootstrap_servers=servers, value="bytes", store=store) as table:
        writes = Writes(servers, topic)
        with table.watch() as changes:
            writing = threading.Thread(target=writes.run, args=(rate, seconds), daemon=True)
            writing.start()
            for change in changes:  # told once the row is in the store
                seen_at[change.value] = time.perf_counter()
                if len(seen_at) == count:
                    break
        writing.join()
    late_ms = [max(0.0, seen_at[value] - at) * 1000 for value, at in writes.acknowledged_at.items()]
    p50, p99 = np.percentile(late_ms, [50, 99])
    return {"writes": len(late_ms), "p50_ms": p50, "p99_ms": p99, "max_ms": max(late_ms)}


def main() -> None:
    arguments = _arguments()
    figures, rows = {}, []
    with cluster(arguments.bootstrap_servers) as servers:
        for store in ("memory", "rocksdb"):
            found = freshness(servers, store=store, rate=arguments.rate, seconds=arguments.seconds)
            figures[store] = found
            shown = [f"{found[name]:,.1f}" for name in ("p50_ms", "p99_ms", "max_ms")]
            rows.append([store, *shown, f"{found['writes']:,.0f}"])
    title = f"From acknowledgement to readable at {arguments.rate:,} writes/s, milliseconds"
    report.print_table(title, ["store", "p50", "p99", "max", "writes"], rows)
    report.save("freshness", figures)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bootstrap-servers", help="a broker to use instead of an embedded one")
    parser.add_argument("--rate", type=int, default=1_000)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--quick", action="store_true", help="small numbers: does it work at all?")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rate, arguments.seconds = 200, 3
    return arguments


if __name__ == "__main__":
    main()
