"""Apicurio's serializers for Kafka, in Java, set to Confluent's wire format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lastword.jvm.ivy import Coordinate
from lastword.jvm.jar_set import JarSet
from lastword.registry_server.embedded_registry import EmbeddedRegistry
from tests.support.java_peers.java_program import COMPILER, JAVA, CompiledProgram

# The newest that is published with all three formats.
_VERSION = "3.1.7"
JARS = JarSet(
    f"apicurio-serdes-{_VERSION}",
    (
        *(
            Coordinate("io.apicurio", f"apicurio-registry-{kind}-serde-kafka", _VERSION)
            for kind in ("avro", "jsonschema", "protobuf")
        ),
        COMPILER,
    ),
    listed_in=JAVA,
    # Compression, other languages and code generation: a third of the bytes.
    excluded=("icu4j", "zstd-jni", "snappy-java", "lz4-java", "kotlinpoet", "javapoet"),
)


class Case(NamedTuple):
    """A value that both sides write, and what Lastword wrote; for Protobuf also the compiled file
    and the name of the message in it."""

    kind: str
    topic: str
    value: Any
    data: bytes
    schema: str = ""
    descriptor: bytes = b""
    message: str = ""


class Answer(NamedTuple):
    """What Java wrote for the value, and what it read from Lastword's bytes."""

    data: bytes
    value: Any


class JavaSerdes:
    """Compiled once; every run is one JVM for any number of cases."""

    def __init__(self, classes: Path, registry: EmbeddedRegistry) -> None:
        self._program = CompiledProgram("SchemaRecords", JARS, classes)
        self._url = registry.url.replace("/apis/ccompat/v7", "/apis/registry/v3")

    def run(self, cases: Sequence[Case]) -> list[Answer]:
        """What Java makes of each case."""
        lines = "".join(f"{json.dumps(self._request(case))}\n" for case in cases)
        answers = [json.loads(line) for line in self._program.answers(lines)]
        return [Answer(bytes.fromhex(each["data"]), each["value"]) for each in answers]

    def _request(self, case: Case) -> dict[str, Any]:
        data, descriptor = case.data.hex(), case.descriptor.hex()
        return {**case._asdict(), "url": self._url, "data": data, "descriptor": descriptor}
