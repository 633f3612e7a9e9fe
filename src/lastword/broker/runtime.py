"""The runtime of Kafka: a Java, the broker's jars, and the agent that exports metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lastword.home import HomeFolder
from lastword.jvm.class_archive import ClassArchive
from lastword.jvm.ivy import Coordinate
from lastword.jvm.jar_set import JarSet, Progress
from lastword.jvm.java import Java, find_java

KAFKA_JARS = JarSet(
    "kafka-4.3.1",
    (
        Coordinate("org.apache.kafka", "kafka_2.13", "4.3.1"),
        # Without a binding for SLF4J the broker would die without a message.
        Coordinate("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4", transitive=False),
        Coordinate("io.prometheus.jmx", "jmx_prometheus_javaagent", "1.0.1", transitive=False),
    ),
)
_AGENT = "jmx_prometheus_javaagent"


@dataclass(frozen=True, slots=True)
class KafkaRuntime:
    """A Java and verified jars; everything needed to start brokers, offline.

    metrics_agent  exports the metrics of a broker; None for brokers without
    class_options  make Java use the archive of the broker's classes; none before it was made
    """

    java: Java
    class_path: tuple[Path, ...]
    metrics_agent: Path | None
    class_options: tuple[str, ...] = ()

    @classmethod
    def prepare(
        cls,
        home: Path,
        environ: Mapping[str, str],
        *,
        ivy_settings: Path | None = None,
        progress: Progress | None = None,
    ) -> KafkaRuntime:
        """Find Java, and fetch the jars below ``home`` unless they are there already."""
        java = find_java(environ)
        jars = KAFKA_JARS.resolve(home, java, ivy_settings=ivy_settings, progress=progress)
        (agent,) = [jar for jar in jars if jar.name.startswith(_AGENT)]
        # By their real paths: the archive fits only the class path that it was made with.
        class_path = tuple(jar.resolve() for jar in jars if jar != agent)
        return cls(java, class_path, agent, broker_archive(home, java, class_path).options())


def broker_archive(home: Path, java: Java, class_path: Sequence[Path]) -> ClassArchive:
    """The archive of the broker's classes; ``broker_classes`` makes it."""
    directory, parts = home / HomeFolder.BROKER_CLASSES, map(str, class_path)
    return ClassArchive.of(directory, java, "broker", parts, command="lastword broker fetch")
