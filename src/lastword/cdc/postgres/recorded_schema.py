"""Keeps the columns of a captured table in the catalog, and in a registry if there is one."""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from lastword.catalog.catalog import read_catalog, try_write_entries
from lastword.catalog.catalog_entry import CatalogEntry
from lastword.catalog.row_schema import RowSchema, SourceColumn, SourceColumns
from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.codecs.registry.client import RegistryClient, Schema
from lastword.codecs.row import TYPES
from lastword.errors import LastwordError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog

log = logging.getLogger(__name__)

_INTEGERS = frozenset(("smallint", "integer", "bigint", "oid"))
_FLOATS = frozenset(("real", "double precision"))
_DOCUMENTS = frozenset(("json", "jsonb"))


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
        with Admin(self._connection) as admin:
            entry = read_catalog(admin, self._log).get(self._topic)
        return None if entry is None else entry.row_schema

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
    document = msgspec.json.encode(json_schema(schema), order="deterministic").decode()
    registry.register(subject, Schema(document, "JSON"))
    if is_new:  # not before: some registries do not know a subject without a version
        registry.set_compatibility(subject, "NONE")


def json_schema(schema: RowSchema) -> dict[str, Any]:
    """The rows of a mirror as JSON Schema; each column says its type in the database.

    No column is required: a large value that was not sent may be missing from a row.
    """
    columns = {each.name: _property(each) for each in schema.columns}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": f"version {schema.version}",
        "type": "object",
        "properties": columns | {TYPES: {"type": "object"}},
        "additionalProperties": False,
    }


def _property(column: SourceColumn) -> dict[str, Any]:
    kind = column.type
    json_type: list[str] | None = ["string", "null"]
    if kind.endswith("[]"):
        json_type = ["array", "null"]
    elif kind in _INTEGERS:
        json_type = ["integer", "null"]
    elif kind in _FLOATS:
        json_type = ["number", "string", "null"]  # NaN and infinity are text
    elif kind == "boolean":
        json_type = ["boolean", "null"]
    elif kind in _DOCUMENTS:
        json_type = None  # any value
    described = {"description": kind}
    return described if json_type is None else {**described, "type": json_type}


def _text(changes: tuple[str, ...]) -> str:
    return "; ".join(changes)
