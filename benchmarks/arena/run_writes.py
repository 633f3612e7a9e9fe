"""An owned table as a contestant: writes of many threads or coroutines. Run in its own process.

python -m arena.run_writes SERVERS TOPIC threads OPERATION CLIENTS SECONDS     answers in JSON
python -m arena.run_writes SERVERS TOPIC coroutines OPERATION CLIENTS SECONDS
python -m arena.run_writes SERVERS TOPIC instance                      does what each line asks for
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from lastword import Table
from lastword.errors import LastwordError

BATCH = 100
VALUE = {"name": "Ada", "note": "x" * 60}

Client = Callable[[], int]
"""Does one operation; returns how many writes it was."""

AsyncClient = Callable[[], Awaitable[int]]


def main() -> None:
    servers, topic, kind, *more = sys.argv[1:]
    started = time.perf_counter()
    with Table(topic, bootstrap_servers=servers, writes="owned", application_id=topic) as table:
        table.increment("first")  # the partition of this key has an owner now
        if kind == "instance":
            obey(table)
            return
        operation, clients, seconds = more[0], int(more[1]), float(more[2])
        keys = [f"cas-{number}" for number in range(clients)]
        ready = {"ready_at": time.time(), "ready_s": time.perf_counter() - started}
        if kind == "coroutines":
            found = asyncio.run(measured_in_loop(table, operation, keys, seconds))
        else:
            found = measured([client_of(table, operation, key) for key in keys], seconds)
        print(json.dumps(ready | found))


def client_of(table: Table, operation: str, key: str) -> Client:
    """One client of a kind; its first write is not measured."""
    if operation == "cas":
        version = table.put(key, VALUE)

        def swap() -> int:
            nonlocal version
            version = table.put(key, VALUE, if_version=version)
            return 1

        return swap
    if operation == "increment":
        return lambda: bool(table.increment("hot"))
    if operation == "put":
        return lambda: bool(table.put(key, VALUE))
    pairs = [(f"{key}-{number}", VALUE) for number in range(BATCH)]

    def put_batch() -> int:
        outcomes = table.put_many(pairs)
        if any(outcome.status != "ok" for outcome in outcomes):
            raise SystemExit(f"not everything was written: {outcomes}")
        return BATCH

    return put_batch


async def async_client_of(table: Table, operation: str, key: str) -> AsyncClient:
    """The same for a coroutine."""
    calls = table.aio
    if operation == "cas":
        version = await calls.put(key, VALUE)

        async def swap() -> int:
            nonlocal version
            version = await calls.put(key, VALUE, if_version=version)
            return 1

        return swap

    async def increment() -> int:
        await calls.increment("hot")
        return 1

    async def put() -> int:
        await calls.put(key, VALUE)
        return 1

    return increment if operation == "increment" else put


async def measured_in_loop(
    table: Table, operation: str, keys: list[str], seconds: float
) -> dict[str, float]:
    """Every client as a coroutine of one event loop, as often as it can."""
    clients = [await async_client_of(table, operation, key) for key in keys]
    latencies: list[list[float]] = [[] for _ in clients]
    started = time.perf_counter()

    async def run(client: AsyncClient, own: list[float]) -> int:
        done = 0
        while (before := time.perf_counter()) < started + seconds:
            done += await client()
            own.append(time.perf_counter() - before)
        return done

    writes = await asyncio.gather(*map(run, clients, latencies))
    return figures(sum(writes), time.perf_counter() - started, latencies)


def measured(clients: list[Client], seconds: float) -> dict[str, float]:
    """Every client on a thread of its own, as often as it can."""
    latencies: list[list[float]] = []
    writes: list[int] = []
    started = time.perf_counter()

    def run(client: Client) -> None:
        own, done = [], 0
        while (before := time.perf_counter()) < started + seconds:
            done += client()
            own.append(time.perf_counter() - before)
        latencies.append(own)
        writes.append(done)

    threads = [threading.Thread(target=run, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took_s = time.perf_counter() - started
    if len(writes) != len(clients):
        raise SystemExit("a client failed; see above")
    return figures(sum(writes), took_s, latencies)


def figures(writes: int, took_s: float, latencies: list[list[float]]) -> dict[str, float]:
    """The rate, and the latency of single operations."""
    every = sorted(each for own in latencies for each in own)
    return {
        "writes": writes,
        "per_second": writes / took_s,
        "p50_ms": every[len(every) // 2] * 1000,
        "p99_ms": every[int(0.99 * (len(every) - 1))] * 1000,
    }


def obey(table: Table) -> None:
    """``increment`` and ``owns``, one a line, until the input ends."""
    say({"ready": True})
    for line in sys.stdin:
        try:
            say({"done": asked(table, line.strip())})
        except LastwordError as error:
            say({"failed": str(error)})


def asked(table: Table, what: str) -> Any:
    if what == "increment":
        return str(table.increment("first").version)
    owned = table.raw.owned
    return owned is not None and 0 in owned.owned_partitions


def say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
