"""librdkafka's own log lines, as records of the standard ``logging``."""

from __future__ import annotations

import logging
import re
import threading

from lastword.clock import SYSTEM_CLOCK, Clock

LOGGER_NAME = "lastword.kafka.librdkafka"
REPEAT_SECONDS = 60.0
"""A repeated failure is logged again after this long; in between it is a debug line."""

_VARYING = re.compile(r"rdkafka#\w+-\d+|\d+ ?ms|,? ?\d+ identical error\(s\) suppressed")
_KEPT_LINES_MAX = 1000


class QuietRepeats(logging.Filter):
    """Logs a failure once a minute and lowers its repetitions to debug.

    A client that cannot connect logs the same line twenty times a second, per client and per
    broker. Only the first one is useful.
    """

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        super().__init__()
        self._clock = clock
        self._said: dict[str, float] = {}
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep the first line of its kind; make the others debug lines."""
        if record.levelno <= logging.DEBUG:
            return True
        line = _VARYING.sub("", record.getMessage())
        now = self._clock.monotonic()
        with self._lock:
            said = self._said.get(line)
            if said is None or now - said >= REPEAT_SECONDS:
                if len(self._said) >= _KEPT_LINES_MAX:
                    self._said.clear()
                self._said[line] = now
                return True
        record.levelno, record.levelname = logging.DEBUG, "DEBUG"
        return logging.getLogger(record.name).isEnabledFor(logging.DEBUG)


def librdkafka_logger() -> logging.Logger:
    """The logger for every librdkafka client; lines are logged when the client is polled."""
    logger = logging.getLogger(LOGGER_NAME)
    if not any(isinstance(present, QuietRepeats) for present in logger.filters):
        logger.addFilter(QuietRepeats())
    return logger
