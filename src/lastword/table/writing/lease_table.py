"""The leases of one application: rows of a separate topic, decided by its owners.

They are not stored in the locked table, whose keys belong to the user and use the user's codec. A
separate topic needs no reserved keys, and is restored and compacted like any other.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from lastword.codecs.resolve import codecs_for
from lastword.errors import (
    LastwordError,
    NotUpToPositionError,
    TopicExistsError,
    TopicNotFoundError,
)
from lastword.kafka.admin import Admin
from lastword.kafka.forks import track
from lastword.kafka.groups.names import lease_topic
from lastword.metrics import Metrics
from lastword.records import Position
from lastword.stores.factory import store_factory
from lastword.table.decoder import Decoder
from lastword.table.lifecycle import Lifecycle
from lastword.table.table_config import TableConfig
from lastword.table.writing.held_leases import HeldLeases
from lastword.table.writing.owned_writes import required_owners
from lastword.topics.creation import create_topic
from lastword.writer.owned.decide import Result
from lastword.writer.owned.requests import Acquire, Release, Renew

log = logging.getLogger(__name__)

READY_STALL_S = 60.0
_PARTITIONS = 1
_REPLICATION_MAX = 3
_SETTINGS = {"segment.bytes": str(16 << 20), "min.cleanable.dirty.ratio": "0.1"}


class LeaseTable:
    """The lease topic of an application, opened by this process. Safe to use from any thread.

    ``held`` renews the leases of this process.
    """

    def __init__(self, config: TableConfig) -> None:
        self.topic = lease_topic(config.application_id)
        with Admin(config.connection, clock=config.clock) as admin:
            _ensure_topic(admin, self.topic)
        metrics = Metrics(table=self.topic)
        self._lifecycle = Lifecycle(_lease_config(config, self.topic, metrics), metrics, None, None)
        self._clock = config.clock
        self.held = HeldLeases(self.ask, config.clock)
        try:
            self._lifecycle.start()
            self._lifecycle.wait_ready(READY_STALL_S)
        except BaseException:
            self._lifecycle.close()
            raise

    def ask(self, requests: Sequence[Acquire | Renew | Release], timeout_s: float) -> list[Result]:
        """Send lease requests to the owner of their partition; returns the answers."""
        owned = required_owners(self._lifecycle.raw.owned, self.topic)
        return owned.ask_all(requests, timeout_s)

    def wait_until_released(self, key: bytes, timeout_s: float) -> bool:
        """Follow the topic until it has no lease of this key any more, or the time is over.

        Returns False at once if there is none here: it may have been taken a moment ago.
        """
        raw, known = self._lifecycle.raw, False
        deadline = self._clock.monotonic() + timeout_s
        while (left_s := deadline - self._clock.monotonic()) > 0:
            position = raw.position().offsets
            partition, row = raw.row(key)
            if row is None:
                return known
            known = True
            with suppress(NotUpToPositionError):
                news = Position({partition: position[partition] + 1})
                raw.get(key, at_least=news, timeout_s=left_s)
        return True

    def close(self) -> None:
        """Release the leases of this process, and close the topic; idempotent."""
        self.held.close()
        self._lifecycle.close()


@dataclass(slots=True)
class _SharedTable:
    table: LeaseTable
    users: int = 0


class SharedLeases:
    """One lease table per process and application, open while it has users."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[tuple[str, str], _SharedTable] = {}
        track(self)

    def open(self, config: TableConfig) -> LeaseTable:
        """The application's lease table; opens it for the first user."""
        key = config.connection.bootstrap_servers, config.application_id
        with self._lock:
            shared = self._open.get(key)
            if shared is None:
                shared = self._open[key] = _SharedTable(LeaseTable(config))
            shared.users += 1
            return shared.table

    def close(self, config: TableConfig) -> None:
        """Remove one user; the last one closes the table."""
        key = config.connection.bootstrap_servers, config.application_id
        with self._lock:
            shared = self._open[key]
            shared.users -= 1
            if shared.users == 0:
                del self._open[key]
                shared.table.close()

    def after_fork(self) -> None:
        """Forget the leases in a forked child: they belong to the parent."""
        self._open = {}
        self._lock = threading.Lock()


SHARED_LEASES = SharedLeases()


def _lease_config(config: TableConfig, topic: str, metrics: Metrics) -> TableConfig:
    skipped = metrics.counter("skipped_records_total")
    return TableConfig(
        topic=topic,
        name=topic,
        connection=config.connection,
        decoder=Decoder(topic, *codecs_for(topic, "string", "json"), "skip", skipped),
        store=store_factory("memory"),
        directory=config.directory,
        application_id=config.application_id,
        allow_expiry=False,
        snapshots=None,
        keep=None,
        ttl_ms=None,
        clock=config.clock,
        writes="owned",
        instance=config.instance,
        keeps_leases=True,
    )


def _ensure_topic(admin: Admin, topic: str) -> None:
    try:
        admin.describe(topic)
    except TopicNotFoundError:
        replication = min(_REPLICATION_MAX, len(admin.brokers()))
        try:
            create_topic(
                admin, topic, partitions=_PARTITIONS, replication=replication, settings=_SETTINGS
            )
        except TopicExistsError:
            log.debug("%s: another instance created it first", topic)
        except LastwordError as error:
            error.add_note(f"{topic} stores the locks of this application; create it compacted")
            raise
