"""The fixtures of the Spark tests: one session, and a bench with a source topic for each test."""

from tests.robustness.conftest import own_broker
from tests.spark.conftest import bench, connection, home, spark

__all__ = ["bench", "connection", "home", "own_broker", "spark"]
