"""The fixtures of the robustness tests: real topics, tables, processes and a broker to break."""

from tests.robustness.conftest import (
    connection,
    make_topic,
    own_broker,
    processes,
    tables,
    topic,
    trickling,
)

__all__ = [
    "connection",
    "make_topic",
    "own_broker",
    "processes",
    "tables",
    "topic",
    "trickling",
]
