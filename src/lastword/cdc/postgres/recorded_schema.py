"""Keeps the columns of a captured table in the catalog, and in a registry if there is one."""

from __future__ import annotations

import logging

from lastword.catalog.catalog import read_row_schema, try_write_entries
from lastword.catalog.catalog_entry import CatalogEntry
from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.codecs.registry.client import RegistryClient, Schema
from lastword.codecs.row_schema import RowSchema, SourceColumns
from lastword.errors import LastwordError
from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog

log = logging.getLogger(__name__)


class RecordedSchema:
    """The versions of the columns of one captured table.

    With ``records``, a new version is written to the catalog and registered. One process does that
    for a table: the one that runs its pipeline. Others only read.
    """

    def __init__(
        self,
        connection: Connection,
        topic: str,
        *,
        records: bool = False,
        registry: RegistryClient | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._connection = connection
        self._topic = topic
        self._records = records
        self._registry = registry
        self._clock = clock
        self._log = KafkaLog(connection)
        self._known: RowSchema | None = None

    def follow(self, found: SourceColumns) -> RowSchema:
        """The version that describes these columns; LastwordError if the catalog does not say."""
        if self._known is not None and self._known.describes(found):
            return self._known
        kept = self._read()
        now_ms = self._clock.now_ms()
        schema = RowSchema.first(found) if kept is None else kept.followed(found, now_ms)
        if schema != kept:
            if not self._records:
                return schema  # until the process that records it has done so
            self._record(schema)
        self._known = schema
        return schema

    def _read(self) -> RowSchema | None:
        return read_row_schema(self._connection, self._log, self._topic)

    def _record(self, schema: RowSchema) -> None:
        """A catalog or a registry that refuses does not stop the capture."""
        for change in schema.history[-1:]:
            log.info("%s has version %d: %s", self._topic, schema.version, _text(change.changes))
        entry = CatalogEntry(row_schema=schema)
        try_write_entries(self._connection, self._log, {self._topic: entry})
        if self._registry is None:
            return
        try:
            _register(self._registry, f"{self._topic}-value", schema)
        except LastwordError as error:
            log.warning("could not register the columns of %s: %s", self._topic, error)


def _register(registry: RegistryClient, subject: str, schema: RowSchema) -> None:
    """The database has changed already: no rule of compatibility can keep a version out."""
    is_new = not registry.versions(subject)
    registry.register(subject, Schema(schema.json_schema(), "JSON"))
    if is_new:  # not before: some registries do not know a subject without a version
        registry.set_compatibility(subject, "NONE")


def _text(changes: tuple[str, ...]) -> str:
    return "; ".join(changes)
