"""Reads of one key by Lastword's clients beside aiohttp, against one service in the same run.

python benchmarks/client.py             on an embedded broker of its own
python benchmarks/client.py --quick     a smoke test with small numbers

Needs the package ``aiohttp``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

from arena import http_servers, report
from arena.cluster import cluster
from arena.http_servers import KEYS, MOUNT, key_of, value_of

import lastword as lw
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.table.table import Table
from lastword.topics.creation import create_topic

CLIENTS = (1, 16)
Figures = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bootstrap-servers", help="a broker to use instead of an embedded one")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small numbers: does it work at all?")
    arguments = parser.parse_args()
    reads, rounds = (200, 1) if arguments.quick else (2000, arguments.rounds)
    found: dict[str, list[Figures]] = {}
    with cluster(arguments.bootstrap_servers) as servers:
        topic = f"bench-client-{int(time.time())}"
        _load(servers, topic)
        with http_servers.lastword(servers, topic, "memory") as (address, token):
            for _ in range(rounds):
                for count in CLIENTS:
                    for name, contestant in CONTESTANTS.items():
                        figures = contestant(f"{address}{MOUNT}", token, count, reads)
                        found.setdefault(f"{name}, {count} at a time", []).append(figures)
    report.print_table(
        f"GET by key, {KEYS:,} keys, {reads:,} reads",
        ("", "reads/s", "spread", "p50 ms", "p99 ms"),
        [
            (
                name,
                f"{report.median(each, 'per_second'):.0f}",
                report.spread(each, "per_second"),
                f"{report.median(each, 'p50_ms'):.2f}",
                f"{report.median(each, 'p99_ms'):.2f}",
            )
            for name, each in sorted(found.items())
        ],
    )
    report.save("client", found)


def with_aiohttp(url: str, token: str, count: int, reads: int) -> Figures:
    """What a program without Lastword's client would do: aiohttp, and JSON by the library."""

    async def use() -> Figures:
        import aiohttp  # noqa: PLC0415 - of this contestant alone

        headers = {"Authorization": f"Bearer {token}"}
        async with aiohttp.ClientSession(headers=headers) as session:

            async def get(key: str) -> Any:
                async with session.get(f"{url}/{key}") as answer:
                    return json.loads(await answer.read())

            return await _measured(get, count, reads)

    return asyncio.run(use())


def with_connect_async(url: str, token: str, count: int, reads: int) -> Figures:
    """Coroutines."""

    async def use() -> Figures:
        async with lw.connect_async(url, token=token, connections=count) as users:
            return await _measured(users.get, count, reads)

    return asyncio.run(use())


def with_connect(url: str, token: str, count: int, reads: int) -> Figures:
    """Threads."""
    with lw.connect(url, token=token, connections=count) as users:

        def work(seed: int) -> list[float]:
            dice = random.Random(seed)
            took = []
            for number in (dice.randrange(KEYS) for _ in range(reads // count)):
                started = time.perf_counter()
                value = users.get(key_of(number))
                took.append(time.perf_counter() - started)
                _check(number, value)
            return took

        with ThreadPoolExecutor(count) as threads:
            started = time.perf_counter()
            times = [each for took in threads.map(work, range(count)) for each in took]
            return _figures(times, time.perf_counter() - started)


CONTESTANTS: dict[str, Callable[[str, str, int, int], Figures]] = {
    "aiohttp": with_aiohttp,
    "connect_async": with_connect_async,
    "connect": with_connect,
}


async def _measured(get: Callable[[str], Awaitable[Any]], count: int, reads: int) -> Figures:
    times: list[float] = []

    async def work(seed: int) -> None:
        dice = random.Random(seed)
        for number in (dice.randrange(KEYS) for _ in range(reads // count)):
            started = time.perf_counter()
            value = await get(key_of(number))
            times.append(time.perf_counter() - started)
            _check(number, value)

    started = time.perf_counter()
    await asyncio.gather(*map(work, range(count)))
    return _figures(times, time.perf_counter() - started)


def _check(number: int, value: Any) -> None:
    if value != json.loads(value_of(number)):
        raise RuntimeError(f"a wrong answer for {key_of(number)}")


def _figures(times: list[float], seconds: float) -> Figures:
    ordered = sorted(times)
    return {
        "per_second": len(times) / seconds,
        "p50_ms": 1000 * median(ordered),
        "p99_ms": 1000 * ordered[len(ordered) * 99 // 100],
    }


def _load(servers: str, topic: str) -> None:
    with Admin(Connection(bootstrap_servers=servers)) as admin:
        create_topic(admin, topic, partitions=3)
    with Table(topic, bootstrap_servers=servers, value="string") as table:
        table.put_many([(key_of(n), value_of(n)) for n in range(KEYS)])


if __name__ == "__main__":
    main()
