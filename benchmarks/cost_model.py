"""What a key costs, and what a billion keys on ten instances would: measured, then predicted.

python benchmarks/cost_model.py                         1 and 5 million keys
python benchmarks/cost_model.py --millions 1 5 20       20 million as well, which takes 20 minutes
python benchmarks/cost_model.py --quick                 a smoke test with small numbers

All sizes together give a line for each figure. The first table says by how much the line is off at
each size, the second how well the smaller sizes alone predict the largest. Then come the bytes on
disk per key: at most during a restore, at rest, and once all files are merged. The last table has
one billion keys.
"""

from __future__ import annotations

import argparse
import shutil
from dataclasses import dataclass
from typing import Any

import numpy as np
from arena import contestants as who
from arena import report
from arena.cluster import cluster
from arena.dataset import Dataset, Expected, load
from arena.report import console
from arena.rounds import start_again, start_empty
from arena.store_files import DiskWatch, compact, directory_bytes
from bootstrap import SNAPSHOTS, snapshot_job

KEYS, PARTITIONS, INSTANCES, STANDBYS = 1_000_000_000, 100, 10, 1
FIGURES = {
    "log_bytes": "bytes of the log, as read",
    "compacted_bytes": "bytes on disk (RocksDB), compacted",
    "peak_bytes": "bytes on disk at most, during a restore",
    "log_s": "seconds from the log",
    "snapshot_s": "seconds from a snapshot",
    "again_s": "seconds to start with its own files",
    "job_s": "seconds to take the snapshot",
}

Measured = dict[str, float]


def main() -> None:
    arguments = _arguments()
    try:
        with cluster(arguments.bootstrap_servers) as servers:
            found = {keys: measure(keys, servers) for keys in arguments.sizes}
    finally:
        shutil.rmtree(SNAPSHOTS, ignore_errors=True)
    model = CostModel.fitted(found)
    _print_checks(model, found)
    _print_disk(found)
    _print_forecast(model)
    report.save("cost-model", {str(keys): figures for keys, figures in found.items()})


@dataclass(frozen=True)
class CostModel:
    """Every figure as a fixed part and a part per key."""

    fixed: Measured
    per_key: Measured

    @classmethod
    def fitted(cls, found: dict[int, Measured]) -> CostModel:
        """The line for each figure that is off by the least, relative to the measurements."""
        lines = {
            name: _line([(keys, own[name]) for keys, own in found.items()]) for name in FIGURES
        }
        fixed, per_key = zip(*lines.values(), strict=True)
        return cls(dict(zip(lines, fixed, strict=True)), dict(zip(lines, per_key, strict=True)))

    def predict(self, name: str, keys: int) -> float:
        """The figure for so many keys."""
        return self.fixed[name] + keys * self.per_key[name]


def _line(points: list[tuple[int, float]]) -> tuple[float, float]:
    """The fixed part and the part per key, neither below 0: least squares of relative errors."""
    points = [(keys, figure) for keys, figure in points if figure > 0]
    if not points:
        return 0.0, 0.0
    relative = np.array([(1 / figure, keys / figure) for keys, figure in points])
    wanted = np.ones(len(points))
    (fixed, per_key), *_ = np.linalg.lstsq(relative, wanted, rcond=None)
    if fixed < 0:
        return 0.0, float(wanted @ relative[:, 1] / (relative[:, 1] @ relative[:, 1]))
    if per_key < 0:
        return float(wanted @ relative[:, 0] / (relative[:, 0] @ relative[:, 0])), 0.0
    return float(fixed), float(per_key)


def measure(keys: int, servers: str) -> Measured:
    """Every figure for a compacted topic of so many keys, each with one record of 100 bytes."""
    dataset = Dataset(keys, keys, every_key_once=True)
    console.print(f"{keys:,} keys")
    load(dataset, servers)
    with snapshot_job(dataset.topic, servers, SNAPSHOTS) as job:
        taken = job.run()
    from_log = who.lastword(dataset, servers, "rocksdb", settle=True)
    restored, peak_bytes = _watched(from_log, dataset.expected)
    again = start_again(from_log, dataset.expected)
    compact(from_log.state_dir)
    copied = who.lastword_from_snapshot(dataset, servers, "rocksdb", SNAPSHOTS)
    found: dict[str, Any] = {
        "log_bytes": taken.bytes,
        "compacted_bytes": directory_bytes(from_log.state_dir),
        "peak_bytes": peak_bytes,
        "rest_bytes": restored["disk_bytes"],
        "log_s": restored["ready_s"],
        "snapshot_s": start_empty(copied, dataset.expected)["ready_s"],
        "again_s": again["ready_s"],
        "job_s": taken.seconds,
    }
    return {name: float(figure) for name, figure in found.items()}


def _watched(contestant: who.Contestant, expected: Expected) -> tuple[dict[str, Any], int]:
    """A restore from the log, and the most that its files took until all was compacted."""
    directory = contestant.state_dir
    shutil.rmtree(directory, ignore_errors=True)
    with DiskWatch(directory) as watch:
        restored = start_empty(contestant, expected)
    return restored, watch.most_bytes


def _print_checks(model: CostModel, found: dict[int, Measured]) -> None:
    _print_check("The model and the measurements", model, found)
    *smaller, largest = sorted(found)
    if len(smaller) > 1:
        before = CostModel.fitted({keys: found[keys] for keys in smaller})
        _print_check("Predicted by the smaller sizes", before, {largest: found[largest]})


def _print_check(title: str, model: CostModel, found: dict[int, Measured]) -> None:
    rows = []
    for keys, measured in sorted(found.items()):
        for name, what in FIGURES.items():
            predicted = model.predict(name, keys)
            off = f"{predicted / measured[name] - 1:+.0%}" if measured[name] else "-"
            rows.append(
                [f"{keys:,}", what, _shown(name, measured[name]), _shown(name, predicted), off]
            )
    report.print_table(title, ["keys", "", "measured", "model", "off"], rows)


def _print_disk(found: dict[int, Measured]) -> None:
    states = {"peak_bytes": "at most", "rest_bytes": "at rest", "compacted_bytes": "compacted"}
    rows = [
        [f"{keys:,}", *(f"{own[name] / keys:.0f}" for name in states)]
        for keys, own in sorted(found.items())
    ]
    report.print_table("Bytes on disk per key", ["keys", *states.values()], rows)


def _print_forecast(model: CostModel) -> None:
    copies = KEYS // INSTANCES * (1 + STANDBYS)
    figures = {
        "the log, all partitions": ("log_bytes", KEYS),
        "disk of an instance with its standbys, compacted": ("compacted_bytes", copies),
        "the same at most, during a restore": ("peak_bytes", copies),
        "a new instance, from the log": ("log_s", copies),
        "a new instance, from a snapshot": ("snapshot_s", copies),
        "an instance that starts with its own files": ("again_s", copies),
        "a snapshot of everything": ("job_s", KEYS),
    }
    rows = [
        [title, _shown(name, model.predict(name, keys))] for title, (name, keys) in figures.items()
    ]
    report.print_table(
        f"{KEYS:,} keys, {PARTITIONS} partitions, {INSTANCES} instances, {STANDBYS} standby",
        ["", "on a machine like this"],
        rows,
    )


def _shown(name: str, figure: float) -> str:
    if name.endswith("_bytes"):
        return f"{figure / 1e9:,.1f} GB" if figure > 1e9 else f"{figure / 1e6:,.1f} MB"
    return f"{figure:,.1f} s"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bootstrap-servers", help="a broker to use instead of an embedded one")
    parser.add_argument(
        "--millions", type=int, nargs="+", default=[1, 5], help="of keys; two sizes or more"
    )
    parser.add_argument("--quick", action="store_true", help="small numbers: does it work at all?")
    arguments = parser.parse_args()
    arguments.sizes = sorted({millions * 1_000_000 for millions in arguments.millions})
    if arguments.quick:
        arguments.sizes = [50_000, 100_000]
    if len(arguments.sizes) < 2:
        parser.error("a line needs two sizes")
    return arguments


if __name__ == "__main__":
    main()
