"""The runtime of Kafka: a Java, the broker's jars, and the agent that exports metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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
    """A Java and verified jars; everything needed to start brokers, offline."""

    java: Java
    class_path: tuple[Path, ...]
    metrics_agent: Path

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
        return cls(java, tuple(jar for jar in jars if jar != agent), agent)
