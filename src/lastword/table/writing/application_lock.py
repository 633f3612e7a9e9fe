"""Locks that belong to an application, not to one of its tables."""

from __future__ import annotations

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.codecs.resolve import codecs_for
from lastword.home import default_state_dir
from lastword.kafka.connection import Connection
from lastword.kafka.groups.names import lease_topic
from lastword.metrics import Metrics
from lastword.replicas.state_directory import StateDirectory
from lastword.stores.factory import store_factory
from lastword.table.decoder import Decoder
from lastword.table.table_config import InstanceConfig, TableConfig
from lastword.table.writing.locks import Locks

_NO_TOPIC = ""


def application_locks(
    connection: Connection,
    application_id: str,
    instance: InstanceConfig,
    clock: Clock = SYSTEM_CLOCK,
    *,
    topic: str = _NO_TOPIC,
) -> Locks:
    """The locks of an application, or of its table for ``topic``, without opening the table."""
    name = lease_topic(application_id)
    skipped = Metrics(table=name).counter("skipped_records_total")
    return Locks(
        TableConfig(
            topic=topic,
            name=name,
            connection=connection,
            decoder=Decoder(name, *codecs_for(name, "string", "json"), "skip", skipped),
            store=store_factory("memory"),
            directory=StateDirectory(default_state_dir(), application_id, name, clock),
            application_id=application_id,
            allow_expiry=False,
            snapshots=None,
            keep=None,
            ttl_ms=None,
            clock=clock,
            instance=instance,
        )
    )
