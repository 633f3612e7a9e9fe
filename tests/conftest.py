"""What all tests share; the broker fixtures come from ``lastword.testing.plugin``."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from lastword.home import default_home
from tests.support.processes_of_tests import Together

# How long an example takes says how busy the machine is, not whether the code is right.
hypothesis.settings.register_profile(
    "lastword", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("lastword")

# Started in the background by a script, this process ignores Ctrl-C, and so would every command
# that a test starts in order to interrupt it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A Spark that lives for seconds is slowed down by the compiler that is to make it faster, and by a
# collector with threads of its own. Measured: half of the processor time of a start.
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
os.environ.setdefault("SPARK_SUBMIT_OPTS", SHORT_LIVED)
# Before each Spark another Java only writes its command line: 0.35 instead of 0.5 s.
os.environ.setdefault("SPARK_LAUNCHER_OPTS", SHORT_LIVED)

HERE = Path(__file__).parent
LOGGERS = ("", "kafka", "py4j", "lastword.kafka.librdkafka")
ON_SPARK = {HERE / "spark", HERE / "regressions" / "pipelines"}


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Together:
    """Have the tests shared out as ``Together`` says."""
    return Together(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs the broker, so that ``pytest -m 'not broker'`` leaves it out.

    The tests on Spark take longest and stay in one process, so they begin first.
    """
    items.sort(key=lambda item: not ON_SPARK & set(item.path.parents))
    for item in items:
        if {HERE / "broker", HERE / "regressions", *ON_SPARK} & set(item.path.parents):
            item.add_marker(pytest.mark.broker)


@pytest.fixture(scope="session")
def prepared(request: pytest.FixtureRequest) -> Path:
    """The home with the jars and Spark's class archive, both made once for this machine."""
    return Path(request.config.getoption("--lastword-home") or default_home())


@pytest.fixture(autouse=True)
def _restored_logging() -> Iterator[None]:
    """Take back what the command line does to logging when it runs inside a test."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [(logger.handlers[:], logger.level) for logger in loggers]
    yield
    for logger, (handlers, level) in zip(loggers, before, strict=True):
        logger.handlers[:] = handlers
        logger.setLevel(level)
