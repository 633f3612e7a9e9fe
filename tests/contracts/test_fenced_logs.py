"""The contract of fenced logs, against the session's broker."""

from __future__ import annotations

import pytest

from lastword.kafka.connection import Connection
from lastword.kafka.write.fenced.idempotent_log import IdempotentLog
from lastword.kafka.write.fenced.transactional_log import TransactionalLog
from lastword.testing.fenced.fence_contract import MESSAGE_BYTES_MAX, PARTITION
from lastword.testing.fenced.fenced_log_contract import FencedLogContract

pytestmark = pytest.mark.broker


class TestIdempotentLog(FencedLogContract):
    def make_log(
        self, connection: Connection, topic: str, transactional_id: str, timeout_s: float
    ) -> IdempotentLog:
        return IdempotentLog(connection, topic, PARTITION, transactional_id, timeout_s=timeout_s)


class TestTransactionalLog(FencedLogContract):
    def make_log(
        self, connection: Connection, topic: str, transactional_id: str, timeout_s: float
    ) -> TransactionalLog:
        return TransactionalLog(
            connection,
            topic,
            PARTITION,
            transactional_id,
            batch_bytes=MESSAGE_BYTES_MAX,
            timeout_s=timeout_s,
        )
