"""Spark's options for the Kafka cluster, without exposing secrets."""

from __future__ import annotations

from lastword.kafka.connection import Connection
from lastword.kafka.connection.discreet_logs import keep_discreet


def kafka_options(connection: Connection) -> dict[str, str]:
    """The connection as options of Spark's Kafka source; they hold its secrets."""
    keep_discreet("py4j")
    return {f"kafka.{name}": value for name, value in connection.java().items()}
