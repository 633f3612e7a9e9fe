"""The logs of a Kafka cluster, read by consumers that join no group."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import partial

from lastword.kafka.connection import Connection
from lastword.kafka.log.client_reader import ClientReader
from lastword.kafka.log.consumer_reader import ConsumerReader
from lastword.kafka.log.native_reader import NativeReader, can_read_natively
from lastword.kafka.log.ranges import read_ranges
from lastword.kafka.log.source import QUEUE_BYTES, STALL_TIMEOUT_S, Ranges
from lastword.records import Batch


@dataclass(frozen=True)
class KafkaLog:
    """A ``LogSource``: the logs of the cluster that ``connection`` describes.

    ``native`` says whether they are read by the native module: by default, wherever it works.
    """

    connection: Connection
    native: bool = field(default_factory=can_read_natively)

    def follow(self, topic: str, *, queue_bytes: int = QUEUE_BYTES) -> ConsumerReader:
        """A new reader of ``topic``."""
        reader = NativeReader if self.native else ClientReader
        return reader(self.connection, topic, queue_bytes=queue_bytes)

    def read(
        self,
        topic: str,
        ranges: Ranges,
        *,
        stall_timeout_s: float = STALL_TIMEOUT_S,
        stopping: Callable[[], bool] = lambda: False,
        queue_bytes: int = QUEUE_BYTES,
    ) -> Generator[Batch, None, None]:
        """Every committed record of ``ranges``, then stop."""
        return read_ranges(
            partial(self.follow, topic, queue_bytes=queue_bytes),
            topic,
            ranges,
            stall_timeout_s=stall_timeout_s,
            stopping=stopping,
        )
