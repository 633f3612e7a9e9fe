"""The write path contract: straight to the topic, into an event log, and with a table behind."""

from __future__ import annotations

import pytest

from lastword.clock import SYSTEM_CLOCK
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.records import SOLE_WRITER_HEADER
from lastword.testing.read_your_writes_contract import ReadYourWritesContract
from lastword.testing.write_path_contract import (
    MESSAGE_BYTES_MAX,
    PARTITIONS,
    PATIENT_S,
    PlainWritePathContract,
)
from lastword.writer.direct import DirectWriter
from lastword.writer.event_log import SETTINGS, event_path
from lastword.writer.instance_fence import InstanceFence
from lastword.writer.read_your_writes import ReadYourWrites, WaitFor
from lastword.writer.sole_writer import SoleWriter

pytestmark = pytest.mark.broker


def direct(connection: Connection, topic: str, timeout_s: float) -> DirectWriter:
    return DirectWriter(connection, topic, batch_bytes=MESSAGE_BYTES_MAX, timeout_s=timeout_s)


class TestDirectWriter(PlainWritePathContract):
    def make_path(self, connection: Connection, topic: str, timeout_s: float) -> DirectWriter:
        return direct(connection, topic, timeout_s)


class TestEventPath(PlainWritePathContract):
    def make_path(self, connection: Connection, topic: str, timeout_s: float) -> DirectWriter:
        return event_path(connection, topic, timeout_s=timeout_s)

    def create_topic(self, admin: Admin, name: str, settings: dict[str, str]) -> None:
        admin.create(name, partitions=PARTITIONS, replication=1, settings=SETTINGS | settings)


class TestSoleWriterThatReadsItsWrites(ReadYourWritesContract, PlainWritePathContract):
    def make_waiting_path(
        self, connection: Connection, topic: str, timeout_s: float, wait_for: WaitFor
    ) -> SoleWriter:
        below = direct(connection, topic, timeout_s)
        path = ReadYourWrites(below, topic, wait_for, timeout_s=PATIENT_S)
        mark, fence = (SOLE_WRITER_HEADER, b"tests"), InstanceFence(topic, SYSTEM_CLOCK)
        return SoleWriter(path, below, mark, fence)
