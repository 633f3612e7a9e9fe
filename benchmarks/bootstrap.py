"""How long until a new instance answers: from the log, a snapshot, or its own files.

python benchmarks/bootstrap.py            2 million records of 1 million keys, then 10 of 2 million
python benchmarks/bootstrap.py --quick    a smoke test with small numbers

Then: what the next snapshot reads after one key in a hundred has changed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from arena import contestants as who
from arena import report
from arena.cluster import cluster
from arena.dataset import Dataset, load, produce
from arena.programs import BUILD
from arena.report import console, median, spread
from arena.rounds import Results, play, start_again, start_empty

from lastword.home import default_home
from lastword.jvm.java import find_java
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.snapshots.catalog.location import Location
from lastword.snapshots.jobs.snapshot_job import SnapshotJob
from lastword.spark.session import build_session

SNAPSHOTS = BUILD / "snapshots"


def main() -> None:
    arguments = _arguments()
    figures: dict[str, Any] = {}
    try:
        with cluster(arguments.bootstrap_servers) as servers:
            for records, keys in arguments.sizes:
                figures[f"{records}/{keys}"] = bootstrap(records, keys, servers, arguments.rounds)
            _print_growth(figures)
            figures["incremental"] = incremental(arguments.sizes[0][1], servers)
    finally:
        shutil.rmtree(SNAPSHOTS, ignore_errors=True)
    report.save("bootstrap", figures)


def bootstrap(records: int, keys: int, servers: str, rounds: int) -> dict[str, Any]:
    """Everybody starts with nothing but what a new machine would find."""
    dataset = Dataset(records, keys)
    console.print(f"loading {dataset.topic}")
    load(dataset, servers)
    snapshot_s = take_snapshot(dataset.topic, servers, SNAPSHOTS)
    from_log = [who.lastword(dataset, servers, store) for store in ("memory", "rocksdb")]
    everybody = [
        *from_log,
        *(
            who.lastword_from_snapshot(dataset, servers, store, SNAPSHOTS)
            for store in ("memory", "rocksdb")
        ),
        who.kafka_streams(dataset, servers, "memory"),
        who.kafka_streams(dataset, servers, "rocksdb"),
    ]
    results = play(everybody, rounds, dataset.expected)
    labels = {each.name: each.label for each in everybody}
    own_files = from_log[1]
    start_empty(own_files, dataset.expected)
    results["checkpoint-rocksdb"] = [
        start_again(own_files, dataset.expected) for _ in range(rounds)
    ]
    labels["checkpoint-rocksdb"] = "Lastword, RocksDB, from its own files"
    _print(dataset, labels, results, snapshot_s)
    return {
        "dataset": dataset.topic,
        "snapshot_s": snapshot_s,
        "labels": labels,
        "rounds": results,
    }


def take_snapshot(topic: str, servers: str, root: Path) -> float:
    """Seconds that Spark takes for it, once it runs."""
    with snapshot_job(topic, servers, root) as job:
        return job.run().seconds


def incremental(keys: int, servers: str) -> dict[str, Any]:
    """A full snapshot, and the next one after one key in a hundred has changed."""
    dataset = Dataset(keys, keys, every_key_once=True, tag=f"-changed-{int(time.time())}")
    console.print(f"loading {dataset.topic}")
    load(dataset, servers)
    try:
        with snapshot_job(dataset.topic, servers, SNAPSHOTS) as job:
            full = job.run()
            produce(dataset.topic, dataset.numbers[: keys // 100].tolist(), keys, servers)
            after = job.run()
    finally:
        with Admin(Connection(bootstrap_servers=servers)) as admin:
            admin.delete(dataset.topic)
    if (after.kind, after.records) != ("incremental", keys // 100):
        raise SystemExit(f"not an incremental snapshot of the changes alone: {after}")
    shares = [
        f"{full.bytes / 1e6:.1f}",
        f"{after.bytes / 1e6:.1f}",
        f"{after.bytes / full.bytes:.1%}",
    ]
    seconds = [f"{full.seconds:.1f}", f"{after.seconds:.1f}", f"{after.seconds / full.seconds:.0%}"]
    report.print_table(
        f"Snapshots: {keys:,} keys, then one in a hundred changed",
        ["", "full", "incremental", "share"],
        [["MB read from Kafka", *shares], ["seconds", *seconds]],
    )
    return {
        "keys": keys,
        "full": {"bytes": full.bytes, "records": full.records, "seconds": full.seconds},
        "incremental": {"bytes": after.bytes, "records": after.records, "seconds": after.seconds},
    }


@contextmanager
def snapshot_job(topic: str, servers: str, root: Path) -> Iterator[SnapshotJob]:
    """On a Spark of its own, which ends with it: nothing else may run beside the contestants."""
    spark = build_session(
        "bootstrap", home=default_home(), java=find_java(os.environ), delta_at=str(root)
    )
    try:
        connection = Connection(bootstrap_servers=servers)
        yield SnapshotJob(spark, connection, Location(str(root), topic), value="bytes")
    finally:
        spark.stop()


def _print(dataset: Dataset, labels: dict[str, str], results: Results, snapshot_s: float) -> None:
    ready = {name: median(answers, "ready_s") for name, answers in results.items()}
    rows = [
        [
            labels[name],
            f"{ready[name]:.2f}",
            spread(answers, "ready_s"),
            f"{ready['streams-memory'] / ready[name]:.1f}",
            f"{ready['streams-rocksdb'] / ready[name]:.1f}",
        ]
        for name, answers in results.items()
    ]
    title = f"A new instance: {dataset.records:,} records, {dataset.expected.keys:,} live keys"
    report.print_table(title, ["", "ready s", "spread", "x KS memory", "x KS RocksDB"], rows)
    console.print(f"The snapshot took Spark {snapshot_s:.1f} s.")


def _print_growth(figures: dict[str, Any]) -> None:
    """How the time to readiness grows from the smaller size to the larger one."""
    small, large = figures.values()
    rows = []
    for name, answers in small["rounds"].items():
        before, after = median(answers, "ready_s"), median(large["rounds"][name], "ready_s")
        label = large["labels"][name]
        rows.append([label, f"{before:.2f}", f"{after:.2f}", f"{after / before:.1f}"])
    columns = ["ready s", *figures, "x"]
    report.print_table("How it grows with records / keys", columns, rows)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bootstrap-servers", help="a broker to use instead of an embedded one")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small numbers: does it work at all?")
    arguments = parser.parse_args()
    arguments.sizes = [(2_000_000, 1_000_000), (10_000_000, 2_000_000)]
    if arguments.quick:
        arguments.sizes, arguments.rounds = [(40_000, 20_000), (200_000, 40_000)], 1
    return arguments


if __name__ == "__main__":
    main()
