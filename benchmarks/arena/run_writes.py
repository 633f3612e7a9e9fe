"""An owned table as a contestant: writes from many threads. Run in its own process.

python -m arena.run_writes SERVERS TOPIC OPERATION CLIENTS SECONDS     measures, and answers in JSON
python -m arena.run_writes SERVERS TOPIC instance                      does what each line asks for
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from lastword import Table
from lastword.errors import LastwordError

BATCH = 100
VALUE = {"name": "Ada", "note": "x" * 60}

Client = Callable[[], int]
"""Does one operation; returns how many writes it was."""


def main() -> None:
    servers, topic, operation, *more = sys.argv[1:]
    started = time.perf_counter()
    with Table(topic, bootstrap_servers=servers, writes="owned", application_id=topic) as table:
        table.increment("first")  # the partition of this key has an owner now
        if operation == "instance":
            obey(table)
            return
        clients, seconds = int(more[0]), float(more[1])
        calls = [client_of(table, operation, f"cas-{number}") for number in range(clients)]
        answer = {"ready_at": time.time(), "ready_s": time.perf_counter() - started}
        print(json.dumps(answer | measured(calls, seconds)))


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
    every = sorted(each for own in latencies for each in own)
    return {
        "writes": sum(writes),
        "per_second": sum(writes) / took_s,
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
