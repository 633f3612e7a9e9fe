"""Numbers of several rounds as medians with their spread, on the terminal and as JSON."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from arena.programs import BENCHMARKS, KAFKA_STREAMS

RESULTS = BENCHMARKS / "results"
Answers = Sequence[Mapping[str, Any]]

# Wide enough for the tables also where nobody can widen the window: in a file or a CI log.
console = Console(width=max(Console().width, 150))


def median(answers: Answers, name: str) -> float:
    """The middle of what the rounds gave."""
    return statistics.median(float(answer[name]) for answer in answers)


def spread(answers: Answers, name: str) -> str:
    """The smallest and largest of the rounds."""
    values = [float(answer[name]) for answer in answers]
    return f"{min(values):.2f}-{max(values):.2f}"


def median_or_dash(answers: Answers, name: str, scale: float = 1, digits: int = 0) -> str:
    """The median for a person; a dash for a contestant that has no such figure."""
    if not all(name in answer for answer in answers):
        return "-"
    return f"{median(answers, name) / scale:,.{digits}f}"


def megabytes(count: float) -> str:
    """Bytes for a person."""
    return f"{count / 1e6:,.0f} MB"


def machine() -> dict[str, Any]:
    """What the figures depend on; the load says how much others used the cores meanwhile."""
    return {
        "cores": os.cpu_count(),
        "cpu": _cpu_model(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load_average": os.getloadavg(),
        "lastword": version("lastword"),
        "confluent-kafka": version("confluent-kafka"),
        "rocksdict": version("rocksdict"),
        "kafka-streams": KAFKA_STREAMS.revision,
    }


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table whose first column is text and the others are figures."""
    table = Table(title=title, title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console.print(table)


def save(name: str, content: Mapping[str, Any]) -> Path:
    """Write the raw figures below results/, one file per run."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}.json"
    path.write_text(json.dumps({"machine": machine(), **content}, indent=2) + "\n")
    console.print(f"raw figures: {path.relative_to(BENCHMARKS.parent)}")
    return path


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()
