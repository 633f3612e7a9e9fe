"""Reads with librdkafka directly: from its messages to columns, without Python objects.

It creates its own consumer from the same settings, in the library that confluent_kafka includes.
The consumer inside a ``confluent_kafka.Consumer`` cannot be used: its memory layout is not a public
interface, and that client's callbacks need a state that only its own calls set up.
"""

from __future__ import annotations

import logging
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, cimpl

from lastword.kafka.connection import Connection
from lastword.kafka.connection.librdkafka_log import librdkafka_logger
from lastword.kafka.log.consumer_reader import (
    MESSAGES_PER_POLL,
    ConsumerReader,
    FailedRead,
    reader_settings,
)
from lastword.native import NATIVE
from lastword.native_batch import NativeBatch
from lastword.records import Batch

if TYPE_CHECKING:  # there may be no such module
    from lastword._native import Reader

log = logging.getLogger(__name__)

# From syslog's levels, which librdkafka has, to those of `logging`.
_LEVELS = (50, 50, 50, 40, 30, 20, 20, 10)
_BROKER_STATE = -1  # not a line of the log: a broker is up or down


@cache
def can_read_natively() -> bool:
    """Whether ``NativeReader`` works in this process; logs once why not."""
    reason = "it was not built, because there was no C compiler"
    if NATIVE is not None:
        try:
            NATIVE.load_librdkafka(cimpl.__file__)
        except ImportError as error:
            reason = str(error)
        else:
            return True
    log.info("logs are read without lastword._native, which would be faster: %s", reason)
    return False


class NativeReader(ConsumerReader):
    """A ``LogReader`` whose batches are ``NativeBatch``."""

    def __init__(self, connection: Connection, topic: str, *, queue_bytes: int) -> None:
        super().__init__(topic)
        settings = reader_settings(connection, queue_bytes)
        self._log = settings.pop("logger", librdkafka_logger())
        self._settings = list(map(_as_text, settings.items()))

    @cached_property
    def _reader(self) -> Reader:
        return _open(self._settings, self._topic)

    def _assign(self, partition: int, offset: int, leader_epoch: int) -> None:
        self._reader.assign(partition, offset, leader_epoch)

    def _release(self, partition: int) -> None:
        self._reader.release(partition)

    def _take(self, timeout_s: float) -> tuple[list[Batch], list[FailedRead]]:
        columns, failed, said = self._reader.poll(round(timeout_s * 1000))
        for line in said:
            self._pass_on(*line)
        batches: list[Batch] = [NativeBatch(each, each.last_offset + 1) for each in columns]
        return batches, [FailedRead(*each, fatal=each[2] == KafkaError._FATAL) for each in failed]

    def _position(self, partition: int) -> tuple[int, int]:
        return self._reader.position(partition)

    def _free(self) -> None:
        self._reader.close()

    def _pass_on(self, level: int, facility: str, text: str) -> None:
        if level == _BROKER_STATE:
            log.debug("reader: %s", text)
        else:
            self._log.log(_LEVELS[min(level, 7)], "%s %s", facility, text)


def _open(settings: list[tuple[str, str]], topic: str) -> Reader:
    if NATIVE is None:
        raise RuntimeError("a native reader needs lastword._native")
    reader: Reader = NATIVE.Reader(cimpl.__file__, settings, topic, MESSAGES_PER_POLL)
    return reader


def _as_text(setting: tuple[str, Any]) -> tuple[str, str]:
    """As librdkafka reads it: booleans in lower case."""
    name, value = setting
    return name, str(value).lower() if isinstance(value, bool) else str(value)
