"""How long after an event its result is in the changelog, for whoever reads committed data."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from arena.processor_time import used_s
from arena.programs import BENCHMARKS

PARTITIONS = 4
# As long as Java needs until it has compiled what runs in every batch.
_WARM_SECONDS = 15
_PATIENCE_S = 120.0
_TICK_S = 0.01


Follower = Callable[[str, str], list[str]]
"""(topic, application id) -> the command of a contestant that counts the topic until it is told to
end; its changelog is that of ``<application id>-0``."""


def latency(
    servers: str, follower: Follower, *, name: str, rate: int, seconds: int
) -> dict[str, float]:
    """Every event has a key of its own, so that each has a result of its own to wait for."""
    topic = f"bench-latency-{name}-{rate}-{int(time.time())}"
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(30)
    application = f"latency-{topic}"
    with _running(follower(topic, application)) as process:
        reader = _Reader(servers, f"{application}-0-result-changelog")
        warm = _produce(servers, topic, 0, rate * _WARM_SECONDS, rate)
        reader.wait_for(warm)
        reader.latencies_ms.clear()
        used, began = used_s(process.pid), time.monotonic()
        reader.wait_for(_produce(servers, topic, warm, rate * seconds, rate))
        cores = (used_s(process.pid) - used) / (time.monotonic() - began)
        reader.stop()
    p50, p99 = np.percentile(reader.latencies_ms, [50, 99])
    return {
        "events": len(reader.latencies_ms),
        "p50_ms": float(p50),
        "p99_ms": float(p99),
        "max_ms": float(max(reader.latencies_ms)),
        "cores": cores,
    }


@contextmanager
def _running(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, cwd=BENCHMARKS)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


def _produce(servers: str, topic: str, first: int, count: int, rate: int) -> int:
    """Send events at a steady rate, stamped with the moment; returns how many."""
    producer = Producer(
        {"bootstrap.servers": servers, "partitioner": "murmur2_random", "linger.ms": 2}
    )
    started = time.time()
    sent = 0
    while sent < count:
        due = min(count, int((time.time() - started) * rate) + 1)
        for number in range(sent, due):
            now_ms = int(time.time() * 1000)
            producer.produce(topic, b"{}", b"event-%d" % (first + number), timestamp=now_ms)
        sent = due
        producer.poll(_TICK_S)
    if left := producer.flush(60):
        raise SystemExit(f"{left} events could not be written to {topic}")
    return count


class _Reader:
    """Follows the changelog on a thread and notes how old each result is when it comes."""

    def __init__(self, servers: str, changelog: str) -> None:
        self.latencies_ms: list[float] = []
        self._servers = servers
        self._changelog = changelog
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def wait_for(self, count: int) -> None:
        """Until so many results were seen."""
        deadline = time.time() + _PATIENCE_S
        while len(self.latencies_ms) < count:
            if time.time() > deadline:
                raise SystemExit(f"{len(self.latencies_ms)} of {count} results came in time")
            time.sleep(_TICK_S)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        settings = {"bootstrap.servers": self._servers, "group.id": "latency", "log_level": 0}
        consumer = Consumer(settings | {"fetch.wait.max.ms": 10, "auto.offset.reset": "earliest"})
        while not self._stopping.is_set():
            known = consumer.list_topics(timeout=10).topics
            if self._changelog in known:
                break
            time.sleep(0.1)
        consumer.assign([TopicPartition(self._changelog, p, 0) for p in range(PARTITIONS)])
        while not self._stopping.is_set():
            for message in consumer.consume(5_000, 0.05):
                if message.error() is None:
                    self.latencies_ms.append(time.time() * 1000 - message.timestamp()[1])
        consumer.close()
