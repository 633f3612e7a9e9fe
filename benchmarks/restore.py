"""How long until a table answers: restore, restart and memory, against others in the same run.

python benchmarks/restore.py            everything, on an embedded broker of its own
python benchmarks/restore.py --quick    a smoke test with small numbers
python benchmarks/restore.py --parts restart --bootstrap-servers localhost:9092
"""

from __future__ import annotations

import argparse
import shutil
import time
from dataclasses import replace
from typing import Any

import numpy as np
from arena import contestants as who
from arena import report
from arena.cluster import cluster
from arena.dataset import Dataset, Expected, load, produce
from arena.report import console, median, median_or_dash, megabytes, spread
from arena.rounds import Results, play, start_again, start_empty

PARTS = ("restore", "restart", "memory")


def main() -> None:
    arguments = _arguments()
    figures: dict[str, Any] = {}
    with cluster(arguments.bootstrap_servers) as servers:
        if "restore" in arguments.parts:
            figures["restore"] = restore(arguments, servers)
        if "restart" in arguments.parts:
            figures["restart"] = restart(arguments, servers)
        if "memory" in arguments.parts:
            figures["memory"] = memory(arguments, servers)
    report.save("restore", figures)


def restore(arguments: argparse.Namespace, servers: str) -> dict[str, Any]:
    """Everybody restores the same topic from nothing."""
    dataset = Dataset(arguments.records, arguments.keys)
    _load(dataset, servers)
    everybody = [
        who.lastword(dataset, servers, "memory"),
        who.lastword(dataset, servers, "rocksdb"),
        who.kafka_streams(dataset, servers, "memory"),
        who.kafka_streams(dataset, servers, "rocksdb"),
        who.plain_python(dataset, servers),
        who.plain_c(dataset, servers, "read"),
        who.plain_c(dataset, servers, "table"),
    ]
    results = play(everybody, arguments.rounds, dataset.expected)
    _print_restore(dataset, {each.name: each.label for each in everybody}, results)
    _print_bytes_per_key(results)
    return {"dataset": dataset.topic, "rounds": results}


def restart(arguments: argparse.Namespace, servers: str) -> dict[str, Any]:
    """A table with its state on disk opens again after some records more."""
    dataset = Dataset(
        arguments.keys, arguments.keys, every_key_once=True, tag=f"-{int(time.time())}"
    )
    _load(dataset, servers)
    everybody = [
        who.lastword(dataset, servers, "rocksdb"),
        who.kafka_streams(dataset, servers, "rocksdb"),
    ]
    steps = [str(new) for new in arguments.new_records]
    figures: dict[str, Results] = {
        each.name: {"empty": [start_empty(each, dataset.expected)]} | {step: [] for step in steps}
        for each in everybody
    }
    numbers, random = dataset.numbers, np.random.default_rng(13)
    for new in arguments.new_records * arguments.rounds:
        more = random.integers(0, dataset.keys_drawn, new)
        produce(dataset.topic, more.tolist(), len(numbers), servers)
        numbers = np.concatenate([numbers, more])
        expected = Expected.after(numbers, dataset.keys_drawn)
        for each in everybody:
            figures[each.name][str(new)].append(start_again(each, expected))
    _print_restart(dataset, figures)
    return {"dataset": dataset.topic, "figures": figures}


def memory(arguments: argparse.Namespace, servers: str) -> dict[str, Any]:
    """A table larger than what RocksDB may keep in memory is restored."""
    dataset = Dataset(arguments.memory_keys, arguments.memory_keys, every_key_once=True)
    _load(dataset, servers)
    contestant = who.lastword(dataset, servers, "rocksdb")
    contestant = replace(contestant, command=[*contestant.command, "--watch-memory"])
    answer = start_empty(contestant, dataset.expected)
    before, peak = answer["rss_before_bytes"], answer["peak_rss_bytes"]
    report.print_table(
        f"Memory while {dataset.keys_drawn:,} keys are restored into RocksDB",
        ["", "figure"],
        [
            ["RocksDB's budget", megabytes(answer["rocksdb_budget_bytes"])],
            ["held by RocksDB at most", megabytes(answer["rocksdb_cache_bytes"])],
            ["  of it write buffers", megabytes(answer["rocksdb_write_buffer_bytes"])],
            ["resident before", megabytes(before)],
            ["resident at most", megabytes(peak)],
            ["grown by", megabytes(peak - before)],
            ["resident when ready", megabytes(answer["rss_bytes"])],
            ["on disk", megabytes(answer["disk_bytes"])],
            ["ready after", f"{answer['ready_s']:.1f} s"],
        ],
    )
    if contestant.state_dir is not None:
        shutil.rmtree(contestant.state_dir, ignore_errors=True)
    return {"dataset": dataset.topic, "answer": answer}


def _load(dataset: Dataset, servers: str) -> None:
    console.print(f"loading {dataset.topic}")
    started = time.perf_counter()
    load(dataset, servers)
    console.print(f"  {dataset.records:,} records in {time.perf_counter() - started:.1f} s")


def _print_restore(dataset: Dataset, labels: dict[str, str], results: Results) -> None:
    ready = {name: median(answers, "ready_s") for name, answers in results.items()}
    rows = [
        [
            labels[name],
            f"{ready[name]:.2f}",
            spread(answers, "ready_s"),
            median_or_dash(answers, "restore_s", digits=2),
            f"{dataset.records / ready[name] / 1000:,.0f}",
            f"{ready['streams-memory'] / ready[name]:.2f}",
            f"{ready['streams-rocksdb'] / ready[name]:.2f}",
            f"{median(answers, 'process_s'):.2f}",
            f"{median(answers, 'cpu_s'):.1f}",
            megabytes(median(answers, "peak_rss_bytes")),
        ]
        for name, answers in results.items()
    ]
    columns = ["", "ready s", "spread", "restoring s", "k/s", "x KS memory", "x KS RocksDB"]
    columns += ["process s", "CPU s", "peak memory"]
    title = f"Restore of {dataset.records:,} records, {dataset.expected.keys:,} live keys"
    report.print_table(title, columns, rows)


def _print_bytes_per_key(results: Results) -> None:
    rows = []
    for store in ("memory", "rocksdb"):
        answers = results[f"lastword-{store}"]
        keys = median(answers, "keys")
        grown = median(answers, "rss_bytes") - median(answers, "rss_before_bytes")
        disk = median(answers, "disk_bytes")
        rows.append([store, f"{grown / keys:.0f}", f"{disk / keys:.0f}" if disk else "-"])
    report.print_table("Bytes per key (Lastword)", ["store", "memory", "disk"], rows)


def _print_restart(dataset: Dataset, figures: dict[str, Results]) -> None:
    ours, theirs = figures["lastword-rocksdb"], figures["streams-rocksdb"]
    rows = [
        [
            "from nothing" if step == "empty" else f"{int(step):,} new records",
            f"{median(ours[step], 'ready_s'):.2f}",
            spread(ours[step], "ready_s"),
            f"{median(theirs[step], 'ready_s'):.2f}",
            spread(theirs[step], "ready_s"),
        ]
        for step in ours
    ]
    title = f"Opening a table of {dataset.keys_drawn:,} keys on RocksDB, seconds"
    report.print_table(title, ["", "Lastword", "spread", "Kafka Streams", "spread"], rows)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bootstrap-servers", help="a broker to use instead of an embedded one")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small numbers: does it work at all?")
    arguments = parser.parse_args()
    arguments.records, arguments.keys, arguments.memory_keys = 2_000_000, 1_000_000, 5_000_000
    arguments.new_records = [0, 1_000, 10_000, 100_000]
    if arguments.quick:
        arguments.records, arguments.keys, arguments.memory_keys = 40_000, 20_000, 50_000
        arguments.new_records, arguments.rounds = [0, 1_000], 1
    return arguments


if __name__ == "__main__":
    main()
