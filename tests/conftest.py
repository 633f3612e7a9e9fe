"""What all tests share; the broker fixtures come from ``lastword.testing.plugin``."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

# How long an example takes says how busy the machine is, not whether the code is right.
hypothesis.settings.register_profile("lastword", deadline=None)
hypothesis.settings.load_profile("lastword")

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs the broker, so that ``pytest -m 'not broker'`` leaves it out."""
    for item in items:
        if {HERE / "broker", HERE / "spark"} & set(item.path.parents):
            item.add_marker(pytest.mark.broker)


@pytest.fixture(autouse=True)
def _restored_logging() -> Iterator[None]:
    """Take back what the command line does to logging when it runs inside a test."""
    loggers = [logging.getLogger(name) for name in ("", "kafka", "lastword.kafka.librdkafka")]
    before = [(logger.handlers[:], logger.level) for logger in loggers]
    yield
    for logger, (handlers, level) in zip(loggers, before, strict=True):
        logger.handlers[:] = handlers
        logger.setLevel(level)
