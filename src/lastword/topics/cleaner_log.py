"""The cleaner's runs and errors, from the log of a broker on this machine.

Kafka has no metric for the last clean of one partition; the broker's log has a line for each.
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

_RUN = re.compile(
    r"^(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) INFO .*\n"
    r"\tLog cleaner thread \d+ cleaned log (?P<log>\S+) "
    r"\(dirty section = \[(?P<start>\d+), (?P<end>\d+)\]\)\n"
    r"(?:\t.*\n)*?"
    r"\tStart size: .*\((?P<before>[\d,]+) messages\)\n"
    r"\tEnd size: .*\((?P<after>[\d,]+) messages\)\n"
    r"\t(?P<reduction>-?[\d.]+|NaN)% size reduction",
    re.MULTILINE,
)
_STARTED = "] Kafka Server started ("
_UNCLEANABLE = "Marking its partition ({log}) as uncleanable"


class CleanerRun(NamedTuple):
    """One cleaning of one log: when it ended, what it cleaned, and what remained."""

    ended_ms: int
    dirty_from: int
    dirty_until: int
    records_before: int
    records_after: int
    recopy_percent: float


def last_run(log_file: Path, topic: str, partition: int) -> CleanerRun | None:
    """The newest run on the partition that the log still has."""
    for path in _newest_first(log_file):
        runs = [m for m in _RUN.finditer(_read(path)) if m["log"] == f"{topic}-{partition}"]
        if runs:
            return _run(runs[-1])
    return None


def all_runs(log_file: Path, topic: str, partition: int) -> list[CleanerRun]:
    """Every run on the partition that the broker's log still has, oldest first."""
    found = [
        _run(run)
        for path in _newest_first(log_file)
        for run in _RUN.finditer(_read(path))
        if run["log"] == f"{topic}-{partition}"
    ]
    return sorted(found)


def was_marked_uncleanable(log_file: Path, topic: str, partition: int) -> bool:
    """Whether an error made the cleaner give up on the partition since the broker started."""
    mark = _UNCLEANABLE.format(log=f"{topic}-{partition}")
    for path in _newest_first(log_file):
        _, started, since_start = _read(path).rpartition(_STARTED)
        if started or mark in since_start:
            return mark in since_start
    return False


def _run(found: re.Match[str]) -> CleanerRun:
    ended = datetime.strptime(found["time"], "%Y-%m-%d %H:%M:%S,%f").astimezone()
    reduction = 0.0 if found["reduction"] == "NaN" else float(found["reduction"])
    return CleanerRun(
        ended_ms=int(ended.timestamp() * 1000),
        dirty_from=int(found["start"]),
        dirty_until=int(found["end"]),
        records_before=int(found["before"].replace(",", "")),
        records_after=int(found["after"].replace(",", "")),
        recopy_percent=round(100.0 - reduction, 1),
    )


def _newest_first(log_file: Path) -> list[Path]:
    """The log and its older parts beside it: ``broker.log``, ``broker.log.1`` and so on."""
    parts = [path for path in log_file.parent.glob(log_file.name + "*") if path.is_file()]
    return sorted(parts, key=lambda path: path.stat().st_mtime_ns, reverse=True)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:  # rotated away since it was listed
        return ""
