"""Reads and writes the catalog of a cluster: one partition, one small record per topic."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from lastword.catalog.catalog_entry import CatalogEntry, decode_entry, encode_entry
from lastword.codecs.row_schema import RowSchema
from lastword.errors import LastwordError, TopicExistsError, TopicNotFoundError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.log.source import LogSource
from lastword.kafka.write.producer import RecordProducer
from lastword.records import Write

log = logging.getLogger(__name__)

CATALOG_TOPIC = "lastword-catalog"
READ_TIMEOUT_S = 5.0
WRITE_TIMEOUT_S = 10.0
_BATCH_BYTES = 1_000_000
_BROKERS_DEFAULT = -1
# Small segments, compacted soon: reading the whole topic stays quick.
_SETTINGS = {
    "cleanup.policy": "compact",
    "segment.bytes": str(1 << 20),
    "segment.ms": "3600000",
    "min.cleanable.dirty.ratio": "0.1",
}

Entries = Mapping[str, CatalogEntry]
"""By topic."""


def read_catalog(admin: Admin, log_source: LogSource) -> dict[str, CatalogEntry]:
    """All entries; empty if there is no catalog. Raises any other error of reading it."""
    try:
        start, readable, _, _ = admin.bounds(CATALOG_TOPIC, [0])[0]
    except TopicNotFoundError:
        return {}
    found: dict[str, CatalogEntry] = {}
    unreadable: set[str] = set()
    if start >= readable:
        return found
    batches = log_source.read(CATALOG_TOPIC, {0: (start, readable)}, stall_timeout_s=READ_TIMEOUT_S)
    for batch in batches:
        for record in batch.records():
            topic = (record.key or b"").decode(errors="replace")
            entry = None if record.value is None else decode_entry(record.value)
            if entry is None and record.value is not None:
                unreadable.add(topic)
            else:
                unreadable.discard(topic)
            if entry is not None:
                found[topic] = entry
            else:
                found.pop(topic, None)
    for topic in sorted(unreadable):
        log.warning(
            "the catalog's entry of %s cannot be read and is not used; "
            "to write it again: lastword describe %s --save",
            *(topic, topic),
        )
    return found


def read_row_schema(connection: Connection, log_source: LogSource, topic: str) -> RowSchema | None:
    """The columns of a captured table as the catalog has them now; None if it has none."""
    with Admin(connection) as admin:
        entry = read_catalog(admin, log_source).get(topic)
    return None if entry is None else entry.row_schema


def write_entries(
    connection: Connection, log_source: LogSource, entries: Mapping[str, CatalogEntry | None]
) -> None:
    """Merge these entries into the catalog, and delete the topics whose entry is None.

    Creates the catalog topic if it is missing, and writes only what has changed. Raises
    LastwordError if it cannot be written.
    """
    with Admin(connection) as admin:
        known = read_catalog(admin, log_source)
        changed = _changes(known, entries)
        if not changed:
            return
        _ensure_topic(admin)
    producer = RecordProducer(
        connection, CATALOG_TOPIC, batch_bytes=_BATCH_BYTES, timeout_s=WRITE_TIMEOUT_S
    )
    try:
        for delivery in producer.send(changed):
            if isinstance(delivery, LastwordError):
                raise delivery
    finally:
        producer.close()


def try_write_entries(
    connection: Connection, log_source: LogSource, entries: Mapping[str, CatalogEntry | None]
) -> None:
    """The same for callers that can do without the catalog: an error is only logged."""
    try:
        write_entries(connection, log_source, entries)
    except LastwordError as error:
        log.warning("could not add %s to the catalog: %s", ", ".join(sorted(entries)), error)


def _changes(known: Entries, entries: Mapping[str, CatalogEntry | None]) -> list[Write]:
    changed: list[Write] = []
    for topic, entry in entries.items():
        if entry is None:
            if topic in known:
                changed.append(Write(topic.encode(), None))
            continue
        updated = known.get(topic, CatalogEntry()).updated(entry)
        if updated != known.get(topic):
            changed.append(Write(topic.encode(), encode_entry(updated)))
    return changed


def _ensure_topic(admin: Admin) -> None:
    try:
        admin.describe(CATALOG_TOPIC)
    except TopicNotFoundError:
        try:
            admin.create(
                CATALOG_TOPIC, partitions=1, replication=_BROKERS_DEFAULT, settings=_SETTINGS
            )
        except TopicExistsError:
            log.debug("another process created %s first", CATALOG_TOPIC)
