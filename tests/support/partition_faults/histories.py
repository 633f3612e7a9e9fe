"""What instances wrote down of their reads and writes, one line each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec


class WriteMade(msgspec.Struct, array_like=True, tag="w"):
    """A put, or a delete if the value is None; without an outcome the offset counts for nothing."""

    partition: int
    began: float
    ended: float
    status: str
    key: str
    value: str | None
    offset: int
    instance: str = ""


class ReadMade(msgspec.Struct, array_like=True, tag="r"):
    """A read of ``kind``: of the keys ``asked``, or of what is between these bounds.

    ``partitions`` are those that the keys belong to, or that the scan was to cover. ``rows`` has
    key, offset and value of what was found, ``offsets`` the position of each partition read.
    """

    kind: str
    began: float
    ended: float
    status: str
    asked: list[str]
    partitions: list[int]
    rows: list[tuple[str, int, str]] = []
    offsets: dict[int, int] = {}
    staleness_s: float = 0.0
    answered_by: list[str] = []
    instance: str = ""

    @property
    def routed(self) -> bool:
        """Whether other instances answered, and not the one that was asked."""
        return self.status == "ok" and self.instance not in self.answered_by


class Histories(NamedTuple):
    """Everything that was done; ``reads`` may be iterated over several times."""

    writes: list[WriteMade]
    reads: Iterable[ReadMade]


class ReadsOf:
    """The reads in some files, decoded each time: a million of them need not be in memory."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths = list(paths)

    def __iter__(self) -> Iterator[ReadMade]:
        return (each for each in lines_of(self._paths) if isinstance(each, ReadMade))


def read_histories(paths: Iterable[Path]) -> Histories:
    """The lines of all instances."""
    paths = list(paths)
    writes = [each for each in lines_of(paths) if isinstance(each, WriteMade)]
    return Histories(writes, ReadsOf(paths))


def lines_of(paths: Iterable[Path]) -> Iterator[WriteMade | ReadMade]:
    """Every line; the last line of a killed process may be cut."""
    for path in paths:
        with path.open("rb") as file:
            for line in file:
                try:
                    made = decode_line(line)
                except msgspec.DecodeError:
                    continue
                made.instance = path.stem
                yield made


decode_line = msgspec.json.Decoder(WriteMade | ReadMade).decode
