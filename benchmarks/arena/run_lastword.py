"""This project as a contestant: opens a table, checks and reads it. Run in its own process."""

from __future__ import annotations

import argparse
import gc
import json
import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from arena.child import memory_bytes
from arena.dataset import key_of, sample_checksum, sample_keys
from arena.rocksdb_watch import RocksDBWatch
from arena.store_files import directory_bytes, wait_until_settled
from lastword import Table

_BATCH_OF_KEYS = 100


def main() -> None:
    arguments = _arguments()
    gc.collect()
    rss_before = memory_bytes("VmRSS")
    with ExitStack() as stack:
        watch = stack.enter_context(RocksDBWatch()) if arguments.watch_memory else None
        started = time.perf_counter()
        table = stack.enter_context(open_table(arguments, value="bytes"))
        ready_s, ready_at = time.perf_counter() - started, time.time()
        gc.collect()
        answer: dict[str, Any] = {
            "ready_s": ready_s,
            "ready_at": ready_at,
            "rss_before_bytes": rss_before,
            "rss_bytes": memory_bytes("VmRSS"),
            "peak_rss_bytes": memory_bytes("VmHWM"),
            "keys": len(table),
        }
        sample = [key.decode() for key in sample_keys(arguments.keys_drawn)]
        answer["checksum"] = sample_checksum(table.get(key) for key in sample)
        if watch is not None:
            answer |= watch.most
        if arguments.reads:
            answer |= reads_per_second(table, arguments)
        if arguments.settle:
            wait_until_settled(table)
    # After closing: a store may write what it has in memory only then.
    answer["disk_bytes"] = directory_bytes(arguments.state_dir)
    if arguments.reads:
        with open_table(arguments, value="json") as table:
            gets, _ = _reads(table, arguments)
            answer["json_gets_per_s"] = gets
    print(json.dumps(answer))


def open_table(arguments: argparse.Namespace, value: str) -> Table:
    """The table as a user opens it."""
    return Table(
        arguments.topic,
        bootstrap_servers=arguments.bootstrap_servers,
        value=value,
        store=arguments.store,
        state_dir=arguments.state_dir,
        snapshots=arguments.snapshots,
    )


def reads_per_second(table: Table, arguments: argparse.Namespace) -> dict[str, float]:
    """Keys read per second, one at a time and a hundred at a time."""
    gets, multi_gets = _reads(table, arguments)
    return {"gets_per_s": gets, "multi_gets_per_s": multi_gets}


def _reads(table: Table, arguments: argparse.Namespace) -> tuple[float, float]:
    draw = random.Random(11)
    keys = [key_of(draw.randrange(arguments.keys_drawn)).decode() for _ in range(arguments.reads)]
    batches = [keys[i : i + _BATCH_OF_KEYS] for i in range(0, len(keys), _BATCH_OF_KEYS)]

    def one_at_a_time() -> None:
        for key in keys:
            table.get(key)

    def many_at_a_time() -> None:
        for batch in batches:
            table.get_many(batch)

    return len(keys) / _second_round(one_at_a_time), len(keys) / _second_round(many_at_a_time)


def _second_round(work: Callable[[], None]) -> float:
    """CPU seconds of the second of two rounds, as for the JVM, which has compiled it by then.

    One thread reads, so on an idle machine they are the seconds that pass; on a busy one they are
    still comparable.
    """
    work()
    started = time.thread_time()
    work()
    return time.thread_time() - started


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--topic", required=True)
    parser.add_argument("--partitions", type=int, required=True)
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--keys-drawn", type=int, required=True)
    parser.add_argument("--store", required=True)
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("--snapshots", help="where snapshots of the topic are, to start from")
    parser.add_argument("--reads", type=int, default=0)
    parser.add_argument("--watch-memory", action="store_true")
    parser.add_argument("--settle", action="store_true", help="close when nothing is compacted")
    return parser.parse_args()


if __name__ == "__main__":
    main()
