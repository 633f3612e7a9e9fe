"""Requests per second and latency over HTTP, against etcd's gateway and Redis in the same run.

python benchmarks/service.py                        everything, on an embedded broker of its own
python benchmarks/service.py --quick                a smoke test with small numbers
python benchmarks/service.py --parts memory --minutes 10

Not called http.py: that would take the place of Python's own ``http`` for every script beside it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
import urllib.request
from typing import Any

from arena import http_servers, report
from arena.cluster import cluster
from arena.http_servers import KEYS, MOUNT, key_of, value_of
from arena.load import CONNECTIONS, Writing, redis_get, wrk_etcd, wrk_get, wrk_page
from arena.programs import BENCHMARKS
from arena.report import console, median, megabytes, spread

from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.table.table import Table
from lastword.topics.creation import create_topic

PARTS = ("get", "pages", "watch", "memory")
WRITES_PER_SECOND = 5_000
TOPIC = "bench-http"


def main() -> None:
    arguments = _arguments()
    http_servers.require("wrk", "etcd", "redis-server", "redis-benchmark")
    figures: dict[str, Any] = {}
    with cluster(arguments.bootstrap_servers) as servers:
        topic = f"{TOPIC}-{int(time.time())}"
        _load(servers, topic)
        with http_servers.lastword(servers, topic, arguments.store) as (address, _token):
            if "get" in arguments.parts:
                figures["get"] = get(arguments, servers, topic, address)
            if "pages" in arguments.parts:
                figures["pages"] = pages(arguments, address)
            if "watch" in arguments.parts:
                figures["watch"] = watch(arguments, servers, topic, address)
            if "memory" in arguments.parts:
                figures["memory"] = memory(arguments, servers, topic, address)
    report.save("service", figures)


def get(arguments: argparse.Namespace, servers: str, topic: str, address: str) -> dict[str, Any]:
    """GET by key, everybody in turn."""
    rounds: dict[str, list[dict[str, float]]] = {}
    seconds = arguments.seconds
    with http_servers.etcd() as etcd, http_servers.redis() as redis:
        for _ in range(arguments.rounds):
            rounds.setdefault("etcd, JSON gateway", []).append(wrk_etcd(etcd, seconds))
            rounds.setdefault("Lastword", []).append(wrk_get(address, MOUNT, seconds))
            with Writing(servers, topic, WRITES_PER_SECOND) as writing:
                answer = wrk_get(address, MOUNT, seconds)
                answer["writes_per_second"] = writing.rate
            rounds.setdefault("Lastword, while written", []).append(answer)
            rounds.setdefault("Redis, its own protocol", []).append(redis_get(redis, seconds))
    baseline = median(rounds["etcd, JSON gateway"], "per_second")
    report.print_table(
        f"GET by key, {CONNECTIONS} connections, {KEYS:,} keys, store {arguments.store}",
        ("", "requests/s", "spread", "p50 ms", "p99 ms", "x etcd", "writes/s"),
        [_row(name, answers, baseline) for name, answers in rounds.items()],
    )
    return rounds


def pages(arguments: argparse.Namespace, address: str) -> list[dict[str, float]]:
    """Pages of 100 keys with their values."""
    answers = [wrk_page(address, MOUNT, arguments.seconds) for _ in range(arguments.rounds)]
    report.print_table(
        "Pages of 100 keys",
        ("", "pages/s", "spread", "p50 ms", "p99 ms", "keys/s"),
        [
            (
                "Lastword",
                f"{median(answers, 'per_second'):,.0f}",
                spread(answers, "per_second"),
                f"{median(answers, 'p50_ms'):.2f}",
                f"{median(answers, 'p99_ms'):.2f}",
                f"{median(answers, 'per_second') * 100:,.0f}",
            )
        ],
    )
    return answers


def watch(arguments: argparse.Namespace, servers: str, topic: str, address: str) -> dict[str, Any]:
    """Many watchers, each of which must see every change."""
    changes, count = arguments.changes, arguments.watchers
    path = "/tables/users/watch"
    command = [sys.executable, "-m", "arena.watchers", address, path, str(count), str(changes)]
    command.append("--joined-together")
    with subprocess.Popen(command, cwd=BENCHMARKS, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None  # noqa: S101 - a pipe was asked for
        assert child.stdout.readline() == "watching\n"  # noqa: S101
        started_at = time.time()
        table = Table(topic, bootstrap_servers=servers)
        with table:
            for first in range(0, changes, 1000):
                pairs = [(key_of(n % KEYS), n) for n in range(first, first + 1000)]
                table.put_many(pairs)
            written_s = time.time() - started_at
        answer = json.loads(child.stdout.readline() or "{}")
    if not answer:
        raise SystemExit("the watchers did not see everything; see above")
    seen_s = answer["finished_at"] - started_at
    console.print(
        f"{count} watchers each saw all {changes:,} changes: written in {written_s:.1f} s, seen "
        f"after {seen_s:.1f} s, {count * changes / seen_s:,.0f} events/s"
    )
    return {"watchers": count, "changes": changes, "written_s": written_s, "seen_s": seen_s}


def memory(arguments: argparse.Namespace, servers: str, topic: str, address: str) -> dict[str, Any]:
    """Reads, pages, writes and watchers that come and go, while memory is looked at."""
    seconds = int(arguments.minutes * 60)
    samples: list[tuple[float, float]] = []
    stopping = threading.Event()
    started = time.monotonic()

    def look() -> None:
        while not stopping.wait(min(5.0, seconds / 20)):
            samples.append((time.monotonic() - started, _resident_bytes(address)))

    def come_and_go() -> None:
        command = [sys.executable, "-m", "arena.watchers", address, "/tables/users/watch"]
        while not stopping.is_set():
            subprocess.run(
                [*command, "10", "2000"], cwd=BENCHMARKS, check=True, capture_output=True
            )

    threads = [threading.Thread(target=look), threading.Thread(target=come_and_go)]
    with Writing(servers, topic, WRITES_PER_SECOND // 5):
        for thread in threads:
            thread.start()
        while time.monotonic() - started < seconds:
            wrk_get(address, MOUNT, max(1, min(20, seconds // 4)))
            wrk_page(address, MOUNT, max(1, min(10, seconds // 8)))
        stopping.set()
        for thread in threads:
            thread.join()
    settled = [used for at, used in samples if seconds * 0.2 <= at <= seconds * 0.4]
    last = [used for at, used in samples if at >= seconds * 0.8]
    before, after = sum(settled) / len(settled), sum(last) / len(last)
    console.print(
        f"{arguments.minutes:g} minutes of mixed load: {megabytes(before)} at first, "
        f"{megabytes(after)} at the end ({(after / before - 1):+.1%})"
    )
    return {"minutes": arguments.minutes, "samples": samples}


def _load(servers: str, topic: str) -> None:
    with Admin(Connection(bootstrap_servers=servers)) as admin:
        create_topic(admin, topic, partitions=3)
    with Table(topic, bootstrap_servers=servers, value="string") as table:
        table.put_many([(key_of(n), value_of(n)) for n in range(KEYS)])


def _resident_bytes(address: str) -> float:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{address}/metrics", timeout=30) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith("lastword_process_resident_bytes "):
                return float(line.split()[1])
    raise SystemExit("the service does not show its memory")


def _row(name: str, answers: list[dict[str, float]], baseline: float) -> tuple[str, ...]:
    written = "writes_per_second" in answers[0]
    return (
        name,
        f"{median(answers, 'per_second'):,.0f}",
        spread(answers, "per_second"),
        f"{median(answers, 'p50_ms'):.2f}",
        f"{median(answers, 'p99_ms'):.2f}",
        f"{median(answers, 'per_second') / baseline:.1f}",
        f"{median(answers, 'writes_per_second'):,.0f}" if written else "-",
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bootstrap-servers", help="a broker to use instead of an embedded one")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--store", choices=("memory", "rocksdb"), default="memory")
    parser.add_argument("--minutes", type=float, default=2.0, help="of mixed load, for memory")
    parser.add_argument("--quick", action="store_true", help="small numbers: does it work at all?")
    arguments = parser.parse_args()
    arguments.seconds, arguments.watchers, arguments.changes = 8, 100, 100_000
    if arguments.quick:
        arguments.seconds, arguments.watchers, arguments.changes = 1, 10, 5_000
        arguments.rounds, arguments.minutes = 1, 0.2
    return arguments


if __name__ == "__main__":
    main()
