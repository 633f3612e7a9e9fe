"""Runs one contestant in a fresh process and brings back what it reports and what it used."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arena.programs import BENCHMARKS

_TIMEOUT_S = 15 * 60


def run(command: Sequence[str], *, who: str) -> dict[str, Any]:
    """The JSON object of the last line the process writes, with what the system says of it.

    Adds ``process_s`` (from starting the process to ready: interpreter, imports and JVM
    included) and ``cpu_s``. The most memory a process held is for itself to report: what wait4
    says of that begins with the memory of the parent it was forked from.
    """
    started_at = time.time()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=BENCHMARKS
    ) as process:
        assert process.stdout and process.stderr  # noqa: S101 - pipes were asked for
        limit = threading.Timer(_TIMEOUT_S, process.kill)
        limit.start()
        complaints: list[bytes] = []
        listener = threading.Thread(target=lambda: complaints.extend(process.stderr or ()))
        listener.start()
        lines = process.stdout.read().splitlines()
        listener.join()
        _, status, usage = os.wait4(process.pid, 0)
        limit.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0 or not lines:
        raise SystemExit(
            f"{who} failed with status {process.returncode}: {' '.join(command)}\n"
            + b"".join(complaints[-30:]).decode(errors="replace")
        )
    answer: dict[str, Any] = json.loads(lines[-1])
    answer["process_s"] = answer["ready_at"] - started_at
    answer["cpu_s"] = usage.ru_utime + usage.ru_stime
    return answer


def output(command: Sequence[str], *, who: str) -> dict[str, Any]:
    """The JSON object of the last line that the process writes."""
    done = subprocess.run(
        command, cwd=BENCHMARKS, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
    )
    lines = done.stdout.splitlines()
    if done.returncode != 0 or not lines:
        raise SystemExit(f"{who} failed: {' '.join(command)}\n{done.stderr[-3000:]}")
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer


def memory_bytes(name: str) -> int:
    """What this process holds in memory, now (``VmRSS``) or at most so far (``VmHWM``)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"the system does not report {name}")
