"""The fixtures of the service's tests; each test starts a service of its own with ``serve``."""

from tests.robustness.conftest import own_broker
from tests.service.conftest import admin, connection, serve, topic

__all__ = ["admin", "connection", "own_broker", "serve", "topic"]
