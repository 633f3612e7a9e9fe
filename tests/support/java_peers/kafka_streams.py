"""Kafka Streams itself, by its own test driver: a JVM, and no broker."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from lastword.jvm.ivy import Coordinate
from lastword.jvm.jar_set import JarSet
from tests.support.java_peers.java_program import COMPILER, JAVA, CompiledProgram
from tests.support.java_peers.streams_cases import Case
from tests.support.on_spark.offline_pipeline import Rows, rows_of

JARS = JarSet(
    "kafka-streams-test-4.3.1",
    (
        Coordinate("org.apache.kafka", "kafka-streams-test-utils", "4.3.1"),
        Coordinate("org.slf4j", "slf4j-nop", "1.7.36"),
        COMPILER,
    ),
    listed_in=JAVA,
)

# The test driver has RocksDB write to disk after every record. In memory that takes no time.
IN_MEMORY = Path("/dev/shm")  # noqa: S108 - the directory is the JVM's own, by a random name

Told = tuple[bytes, bytes | None, int]
"""Key, value and timestamp of a record that was written."""


class Outcome(NamedTuple):
    """What a topology wrote, in order, and how many records it dropped."""

    changelog: list[Told]
    told: list[Told]
    dropped: int

    @property
    def table(self) -> Rows:
        """The rows that the changelog leaves, with their times."""
        return rows_of(self.changelog)


class KafkaStreams:
    """Compiled once; every run is one JVM for any number of cases."""

    def __init__(self, classes: Path) -> None:
        writable = os.access(IN_MEMORY, os.W_OK)
        options = [f"-Djava.io.tmpdir={IN_MEMORY}"] if writable else []
        self._program = CompiledProgram("StreamsCases", JARS, classes, options)

    def run(self, cases: Iterable[Case]) -> list[Outcome]:
        """What Kafka Streams makes of each case."""
        lines = "".join(f"{json.dumps(case.as_json())}\n" for case in cases)
        return [_outcome(json.loads(line)) for line in self._program.answers(lines)]


def _outcome(answer: dict[str, list[tuple[str, str | None, int]]]) -> Outcome:
    changelog, told = (
        [
            (bytes.fromhex(key), None if value is None else bytes.fromhex(value), at_ms)
            for key, value, at_ms in answer[name]
        ]
        for name in ("changelog", "emitted")
    )
    return Outcome(changelog, told, int(answer["dropped"]))  # type: ignore[call-overload]
