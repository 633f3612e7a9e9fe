"""Sets up standard logging: text for people, JSON lines for services, always on standard error."""

from __future__ import annotations

import logging
import sys

from lastword.cli.support.output import as_json, printable

_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


class _TextFormatter(logging.Formatter):
    """``12:00:01 WARNING lastword.replicas: ...``; messages may quote a topic."""

    def format(self, record: logging.LogRecord) -> str:
        time = self.formatTime(record, "%H:%M:%S")
        lines = super().format(record).splitlines()
        text = "\n    ".join(printable(line) for line in lines)
        return f"{time} {record.levelname} {record.name}: {text}"


class _JsonFormatter(logging.Formatter):
    """One object per line: ``time``, ``level``, ``logger``, ``message``, ``exception`` if any."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03d}",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return as_json(entry)


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    """Ctrl-C is no error. PySpark's client logs the call that it cuts off, with a traceback."""
    return not (record.exc_info and isinstance(record.exc_info[1], KeyboardInterrupt))


def set_up_logging(verbosity: int, log_format: str) -> None:
    """Warnings only, or INFO with ``-v`` and DEBUG with ``-vv``."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonFormatter() if log_format == "json" else _TextFormatter())
    handler.addFilter(_is_no_interrupt)
    level = _LEVELS[min(verbosity, len(_LEVELS) - 1)]
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # A broker that is away is reported once, by our own error; the clients repeat it every second.
    for client in ("lastword.kafka.librdkafka", "kafka"):
        logging.getLogger(client).setLevel(logging.NOTSET if verbosity else logging.CRITICAL)
