"""How fast a database table is captured, and how soon a change is readable: beside Debezium alone.

python benchmarks/cdc.py            a million rows; 50 and 1,000 changes/s in both modes
python benchmarks/cdc.py --quick    a smoke test with small numbers, in about two minutes
python benchmarks/cdc.py --parts latency --rates 50 --modes real-time

Starts a PostgreSQL, a broker and a Connect worker of its own. A consumer of the topic of change
events measures Debezium alone, a watcher of the table the pipeline: both in the same run.
"""

from __future__ import annotations

import argparse
from typing import Any

from arena import report
from arena.cluster import cluster
from arena.report import console
from captures.copying import copied
from captures.following import followed
from captures.lab import CaptureLab, capture_lab

PARTS = ("snapshot", "latency")
MODES = ("micro-batch", "real-time")
_COPIES = ("debezium", "pipeline", "both")
_LATENCIES = tuple(
    f"{who}_{share}_ms" for who in ("debezium", "table", "added") for share in ("p50", "p99")
)


def main() -> None:
    arguments = _arguments()
    figures: dict[str, Any] = {}
    with cluster(None) as servers, capture_lab(servers) as lab:
        if "snapshot" in arguments.parts:
            figures["snapshot"] = snapshot(arguments, lab)
        if "latency" in arguments.parts:
            figures["latency"] = latencies(arguments, lab)
    report.save("cdc", figures)


def snapshot(arguments: argparse.Namespace, lab: CaptureLab) -> dict[str, Any]:
    """The copy of all rows."""
    console.print(f"copying {arguments.rows:,} rows of ten columns")
    figures = copied(lab, arguments.rows, arguments.modes[-1])
    shown = [[who, f"{figures[who]:,.0f}"] for who in _COPIES]
    report.print_table(f"copy of {arguments.rows:,} rows", ["", "rows/s"], shown)
    return figures


def latencies(arguments: argparse.Namespace, lab: CaptureLab) -> list[dict[str, Any]]:
    """Commit in the database until it is readable, at a steady rate of single changes."""
    found = []
    for mode in arguments.modes:
        for rate in arguments.rates:
            console.print(f"following {rate:,} changes/s, {mode}")
            found.append(followed(lab, mode, rate, arguments.seconds))
    rows = [
        [
            f"{each['mode']} {each['rate']:,}/s",
            *(f"{each[name]:,.0f}" for name in _LATENCIES),
            f"{each['cores']:.2f}",
        ]
        for each in found
    ]
    columns = ["", "topic p50", "p99", "table p50", "p99", "added p50", "p99", "driver's cores"]
    report.print_table("commit until readable, ms", columns, rows)
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small numbers")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    parser.add_argument("--rates", nargs="+", type=int, default=[50, 1_000], help="changes/s")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the snapshot")
    parser.add_argument("--seconds", type=int, default=60, help="of each latency measurement")
    given = parser.parse_args()
    if given.quick:
        given.rows, given.seconds = min(given.rows, 20_000), min(given.seconds, 8)
    return given


if __name__ == "__main__":
    main()
