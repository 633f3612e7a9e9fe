"""A history: the requests of clients and their answers, with times of one monotonic clock.

Every process appends to its own file, two lines per operation: before it begins and after it
has ended. A process that is killed leaves operations without an end: their outcome is unknown.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

Kind = Literal[
    "put", "cas", "delete", "increment", "append", "merge", "put_if_greater", "transact", "read"
]
Status = Literal["ok", "conflict", "failed", "unknown"]

NEVER_NS = 2**63 - 1
"""The end of an operation whose outcome is unknown: it may take effect at any time later."""


FIRST = "/first"
SECOND = "/second"
"""The keys of a pair are ``PAIR/first`` and ``PAIR/second``.

Only transactions write them, both at once and with one value, so that a pair is one register.
"""


class Operation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One operation on one key, or a ``transact`` on a pair of keys.

    ``value`` is what is written, added, appended or merged. A ``cas`` expects the version
    ``expected``, None for an absent key, which the client saw together with the value
    ``expected_value``; a ``transact`` expects it of the first key of its pair.

    ok        ``version`` is that of the write or of what was read, ``result`` the value there;
              both are None for a key that a read found absent. A ``put_if_greater`` that wrote
              nothing was told what is there. Of a ``transact`` they are those of the first key,
              and ``second_version`` is that of the second
    conflict  not written: ``version`` and ``result`` are what the key was instead
    failed    certainly not written, and nothing was read
    unknown   nobody knows
    """

    id: str
    kind: Kind
    key: str
    value: Any = None
    expected: str | None = None
    expected_value: Any = None
    invoked_ns: int
    completed_ns: int = NEVER_NS
    status: Status = "unknown"
    version: str | None = None
    second_version: str | None = None
    result: Any = None
    error: str | None = None

    @property
    def writes(self) -> bool:
        """Whether it may have written."""
        return self.wrote or (self.status == "unknown" and self.kind != "read")

    @property
    def wrote(self) -> bool:
        """Whether it has certainly written."""
        left = self.kind == "put_if_greater" and self.result != self.value
        return self.status == "ok" and self.kind != "read" and not left

    @property
    def saw(self) -> bool:
        """Whether it wrote nothing, and was told what the key is."""
        return self.status in ("ok", "conflict") and not self.wrote


class Ended(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How an operation ended; ``error`` names the exception, for people."""

    id: str
    completed_ns: int
    status: Status
    version: str | None = None
    second_version: str | None = None
    result: Any = None
    error: str | None = None


class Recorder:
    """Writes the history of one process. Safe to use from any thread."""

    def __init__(self, path: Path, name: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._name = name
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self.ended = 0

    def begin(self, kind: Kind, key: str, **given: Any) -> Operation:
        """An operation is about to be asked for."""
        number = next(self._numbers)
        operation = Operation(
            id=f"{self._name}-{number}", kind=kind, key=key, invoked_ns=_now_ns(), **given
        )
        self._write(operation)
        return operation

    def end(self, operation: Operation, status: Status, **told: Any) -> None:
        """It was answered, or timed out."""
        self._write(Ended(id=operation.id, completed_ns=_now_ns(), status=status, **told))
        self.ended += 1

    def _write(self, line: Operation | Ended) -> None:
        # One call per line: what a killed process began to write is whole or not there.
        data = msgspec.json.encode(line) + b"\n"
        with self._lock:
            os.write(self._file, data)


def _now_ns() -> int:
    return time.monotonic_ns()


class _Line(Operation, kw_only=True):
    """Either kind of line."""

    kind: Kind | None = None  # type: ignore[assignment]
    key: str = ""
    invoked_ns: int = 0


def read_history(paths: Iterable[Path]) -> list[Operation]:
    """All operations of all processes, in the order in which they began."""
    begun: dict[str, Operation] = {}
    ends: dict[str, _Line] = {}
    decode = msgspec.json.Decoder(_Line).decode
    for path in paths:
        for line in path.read_bytes().splitlines(keepends=True):
            if not line.endswith(b"\n"):
                continue
            read = decode(line)
            if read.kind is None:
                ends[read.id] = read
            else:
                begun[read.id] = msgspec.convert(msgspec.to_builtins(read), Operation)
    return sorted(
        (_joined(each, ends.get(each.id)) for each in begun.values()), key=lambda o: o.invoked_ns
    )


def _joined(operation: Operation, end: _Line | None) -> Operation:
    if end is None:
        return operation
    completed_ns = NEVER_NS if end.status == "unknown" else end.completed_ns
    return msgspec.structs.replace(
        operation,
        completed_ns=completed_ns,
        status=end.status,
        version=end.version,
        second_version=end.second_version,
        result=end.result,
        error=end.error,
    )
