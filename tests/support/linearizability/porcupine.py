"""The second checker: porcupine, in Go, which searches for an order instead of getting one.

It knows neither versions nor the log, so it shares no misunderstanding with the first checker.
Needs Go; therefore it runs in ``make soak`` and not in ``make test``.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.support.linearizability.history import Operation

PROGRAM = Path(__file__).parent.parent / "porcupine"
CHECK_S = 1800.0


def build_porcupine(directory: Path) -> Path:
    """Compile the program; downloads porcupine through the Go proxy once."""
    program = directory / "porcupine"
    subprocess.run(["go", "build", "-o", str(program), "."], cwd=PROGRAM, check=True, timeout=600)
    return program


def check_porcupine(program: Path, history: Sequence[Operation]) -> dict[str, str]:
    """The keys whose history is not linearizable, or is undecided after a minute, with which."""
    lines = msgspec.json.Encoder().encode_lines(history)
    done = subprocess.run(
        [str(program)], input=lines, stdout=subprocess.PIPE, check=True, timeout=CHECK_S
    )
    verdicts = msgspec.json.Decoder(dict[str, str]).decode_lines(done.stdout)
    return {each["key"]: each["verdict"] for each in verdicts}
