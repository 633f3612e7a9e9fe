"""How fast the stores alone are: no Kafka, no codecs, rows of about 130 bytes, one thread.

python benchmarks/stores.py              1 000 000 rows
python benchmarks/stores.py --quick      a smoke test with small numbers
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path

from arena import report
from arena.report import median_or_dash
from arena.rounds import Results

from lastword.stores.base import Store
from lastword.stores.factory import store_factory

LIVE_BATCH_ROWS = 2_000
RESTORE_BATCH_ROWS = 250_000
FIGURES = {
    "restored_rows_per_s": "restore",
    "live_rows_per_s": "apply, live",
    "gets_per_s": "get",
    "misses_per_s": "get, absent",
    "multi_gets_per_s": "get_many of 1000",
    "sorted_multi_gets_per_s": "the same, neighbours",
    "scanned_rows_per_s": "scan",
    "short_scans_per_s": "scan of 10 rows",
    "counted_rows_per_s": "first count",
}


def main() -> None:
    arguments = _arguments()
    results: Results = {"memory": [], "rocksdb": []}
    for _ in range(arguments.rounds):
        for name, rounds in results.items():
            # A process each: memory that another store gave back would be used again unseen.
            with get_context("spawn").Pool(1) as child:
                rounds.append(child.apply(measure_one, (name, arguments.rows, arguments.reads)))
    report.print_table(
        f"Thousands a second by one thread, of {arguments.rows:,} rows",
        ["", *FIGURES.values()],
        [
            [name, *(median_or_dash(answers, figure, scale=1000) for figure in FIGURES)]
            for name, answers in results.items()
        ],
    )
    report.print_table(
        "Bytes per row of 130 bytes",
        ["", "held by the store", "of the process"],
        [
            [name, *(median_or_dash(answers, figure) for figure in ("row_bytes", "rss_row_bytes"))]
            for name, answers in results.items()
        ],
    )
    report.save("stores", {"rows": arguments.rows, "rounds": results})


def measure_one(name: str, rows: int, reads: int) -> dict[str, float]:
    """Every figure of a new store."""
    with tempfile.TemporaryDirectory() as directory:
        store = store_factory(name)(0, Path(directory) / "store")
        store.open()
        try:
            return measure(store, rows, reads)
        finally:
            store.close()


def measure(store: Store, rows: int, reads: int) -> dict[str, float]:
    """Every figure of one store, which is empty."""
    numbers = random.Random(1).sample(range(10 * rows), rows)
    resident = _resident_bytes()
    restored = sum(
        _seconds(lambda batch=batch: store.apply(batch, (), b"checkpoint"))
        for batch in _batches(numbers, RESTORE_BATCH_ROWS)
    )
    held = _resident_bytes() - resident
    keys = [_key(number) for number in random.Random(2).choices(numbers, k=reads)]
    neighbours = [_key(number) for number in sorted(numbers)[:reads]]
    for key in keys:
        store.get(key)  # so that all of it is measured from warm caches
    live = list(_batches(random.Random(3).sample(numbers, min(rows, 20_000)), LIVE_BATCH_ROWS))
    seconds = {
        "gets_per_s": _seconds(lambda: [store.get(key) for key in keys]) / reads,
        "misses_per_s": _seconds(lambda: [store.get(key + b"x") for key in keys]) / reads,
        "multi_gets_per_s": _seconds(lambda: _get_many(store, keys)) / reads,
        "sorted_multi_gets_per_s": _seconds(lambda: _get_many(store, neighbours)) / reads,
        "short_scans_per_s": _seconds(lambda: _short_scans(store, keys[: reads // 20]))
        / (reads // 20),
        "scanned_rows_per_s": _seconds(lambda: sum(1 for _ in store.scan())) / rows,
        "counted_rows_per_s": _seconds(store.count) / rows,
        "live_rows_per_s": _seconds(lambda: [store.apply(b, (), b"c") for b in live])
        / sum(map(len, live)),
        "restored_rows_per_s": restored / rows,
    }
    return {name: 1 / each for name, each in seconds.items()} | {
        "row_bytes": store.size_bytes() / rows,
        "rss_row_bytes": held / rows,
    }


def _batches(numbers: list[int], size: int) -> Iterator[dict[bytes, bytes]]:
    for first in range(0, len(numbers), size):
        yield {_key(number): _row(number) for number in numbers[first : first + size]}


def _key(number: int) -> bytes:
    return b"user-%08d" % number


def _row(number: int) -> bytes:
    profile = b'{"name": "Alice %08d", "age": %d, "email": "alice%08d@example.com", "city": "Bern"}'
    return number.to_bytes(17, "big") + profile % (number, number % 90, number)


def _get_many(store: Store, keys: list[bytes]) -> None:
    for first in range(0, len(keys), 1000):
        store.get_many(keys[first : first + 1000])


def _short_scans(store: Store, keys: list[bytes]) -> None:
    for key in keys:
        scan = store.scan(key)
        for _ in range(10):
            next(scan, None)
        scan.close()


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small numbers: does it work at all?")
    arguments = parser.parse_args()
    arguments.rows, arguments.reads = (20_000, 2_000) if arguments.quick else (1_000_000, 100_000)
    if arguments.quick:
        arguments.rounds = 1
    return arguments


if __name__ == "__main__":
    main()
