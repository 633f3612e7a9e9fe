"""The fixtures of the command line's tests."""

from tests.broker.cli.conftest import lastword
from tests.broker.conftest import admin, connection, topic

__all__ = ["admin", "connection", "lastword", "topic"]
