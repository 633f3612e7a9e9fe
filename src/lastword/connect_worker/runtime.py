"""What it takes to run Kafka Connect: a Java, the worker's jars and Debezium's plug-in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lastword.broker.runtime import KafkaRuntime
from lastword.jvm.archive import unpacked
from lastword.jvm.ivy import Coordinate
from lastword.jvm.jar_set import JarSet, Progress
from lastword.jvm.java import Java

CONNECT_JARS = JarSet(
    "kafka-connect-4.3.1",
    (
        Coordinate("org.apache.kafka", "connect-runtime", "4.3.1"),
        Coordinate("org.apache.kafka", "connect-json", "4.3.1"),
    ),
    # The broker's set has them, in the same versions.
    excluded=(
        "jackson-annotations",
        "jackson-core",
        "jackson-databind",
        "jackson-datatype-jdk8",
        "jose4j",
        "kafka-clients",
        "lz4-java",
        "slf4j-api",
        "snappy-java",
        "zstd-jni",
    ),
)
DEBEZIUM_POSTGRES = JarSet(
    "debezium-postgres-3.6.2",
    (
        Coordinate(
            "io.debezium",
            "debezium-connector-postgres",
            "3.6.2.Final",
            transitive=False,
            classifier="plugin",
            extension="tar.gz",
        ),
    ),
    files_only=True,  # its parent's descriptor is not in every mirror, and the archive has it all
)


@dataclass(frozen=True, slots=True)
class ConnectRuntime:
    """A Java, verified jars and the unpacked plug-in; everything to start a worker, offline.

    ``class_options`` are the broker's: its class path is the beginning of the worker's.
    """

    java: Java
    class_path: tuple[Path, ...]
    plugins: Path
    class_options: tuple[str, ...] = ()

    @classmethod
    def prepare(
        cls,
        home: Path,
        environ: Mapping[str, str],
        *,
        ivy_settings: Path | None = None,
        progress: Progress | None = None,
    ) -> ConnectRuntime:
        """Bring 16 MB below ``home``, beside the broker's jars, unless they are there already."""
        kafka = KafkaRuntime.prepare(home, environ, ivy_settings=ivy_settings, progress=progress)
        java = kafka.java
        jars = CONNECT_JARS.resolve(home, java, ivy_settings=ivy_settings, progress=progress)
        (archive,) = DEBEZIUM_POSTGRES.resolve(
            home, java, ivy_settings=ivy_settings, progress=progress
        )
        return cls(
            java, (*kafka.class_path, *jars), unpacked(archive), class_options=kafka.class_options
        )
