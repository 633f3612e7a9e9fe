"""librdkafka's log: the first failure is news, its repetitions are debug lines."""

from __future__ import annotations

import logging

import pytest

from lastword.kafka.connection.librdkafka_log import REPEAT_SECONDS, QuietRepeats
from lastword.testing.fake_clock import FakeClock

LINE = (
    "FAIL [rdkafka#producer-%d] [thrd:localhost:1/bootstrap]: localhost:1/bootstrap: "
    "Connect to ipv4#127.0.0.1:1 failed: Connection refused (after %dms in state CONNECT)"
)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def logger(clock: FakeClock) -> logging.Logger:
    logger = logging.getLogger("lastword.test.quiet")
    for old in list(logger.filters):
        logger.removeFilter(old)
    logger.addFilter(QuietRepeats(clock))
    return logger


def test_a_repeated_failure_is_said_once(
    logger: logging.Logger, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        for attempt in range(20):
            logger.error(LINE, attempt, attempt)
    assert [record.levelname for record in caplog.records] == ["ERROR"]


def test_repetitions_are_logged_at_debug(
    logger: logging.Logger, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        for attempt in range(3):
            logger.error(LINE, attempt, attempt)
    assert [record.levelname for record in caplog.records] == ["ERROR", "DEBUG", "DEBUG"]


def test_a_repeated_failure_is_logged_again(
    logger: logging.Logger, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        logger.error(LINE, 1, 0)
        clock.advance(seconds=REPEAT_SECONDS)
        logger.error(LINE, 1, 0)
    assert len(caplog.records) == 2


def test_another_failure_is_news_of_its_own(
    logger: logging.Logger, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        logger.error(LINE, 1, 0)
        logger.error("FAIL [rdkafka#producer-1] SASL authentication error")
    assert len(caplog.records) == 2
