"""The columns of a captured table, in the catalog and in a real registry."""

from __future__ import annotations

import json
from functools import partial

import pytest

from lastword.catalog.catalog import read_catalog, read_row_schema, write_entries
from lastword.catalog.catalog_entry import CatalogEntry
from lastword.cdc.postgres.recorded_schema import RecordedSchema
from lastword.codecs.registry import Registry
from lastword.codecs.row import RowCodec
from lastword.codecs.row_schema import SourceColumn, SourceColumns
from lastword.jvm.ports import free_ports
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.registry_server.embedded_registry import EmbeddedRegistry
from lastword.service.api.served import Mount, ServedTable
from lastword.service.observe.schema_state import ASK_AGAIN_S, SchemaState
from tests.support.local_tables.tables import Tables
from tests.support.shifted_clock import ShiftedClock

pytestmark = pytest.mark.broker

TYPES = ("integer", "double precision", "boolean", "jsonb", "text[]", "numeric(12,2)")
BEFORE = SourceColumns(7, tuple(SourceColumn(f"c{n}", kind, n) for n, kind in enumerate(TYPES)))
AFTER = SourceColumns(7, (*BEFORE.columns[1:], SourceColumn("c0", "text", 0)))


def entry_of(connection: Connection, topic: str) -> CatalogEntry:
    with Admin(connection) as admin:
        return read_catalog(admin, KafkaLog(connection))[topic]


def test_a_change_of_the_columns_is_a_version_of_the_catalog_and_of_the_registry(
    connection: Connection, registry: EmbeddedRegistry, topic_name: str
) -> None:
    write_entries(connection, KafkaLog(connection), {topic_name: CatalogEntry(value="row")})
    client = Registry(registry.url).client
    recorded = RecordedSchema(connection, topic_name, records=True, registry=client)
    assert recorded.follow(BEFORE).version == 1
    assert recorded.follow(BEFORE).version == 1
    reader = RecordedSchema(connection, topic_name)
    assert reader.follow(AFTER).version == 2, "what will be recorded"
    assert entry_of(connection, topic_name).row_schema == recorded.follow(BEFORE)
    # A new process goes on where the last one was. Nothing keeps an incompatible change out.
    again = RecordedSchema(connection, topic_name, records=True, registry=client)
    schema = again.follow(AFTER)
    assert schema.history[-1].changes == ("changed c0 from integer to text",)
    assert entry_of(connection, topic_name) == CatalogEntry(value="row", row_schema=schema)
    assert client.versions(f"{topic_name}-value") == [1, 2]
    newest = client.version(f"{topic_name}-value")
    assert newest is not None
    assert newest.schema_type == "JSON"
    columns = json.loads(newest.schema)["properties"]
    assert columns["c0"] == {"description": "text", "type": ["string", "null"]}
    assert columns["c3"] == {"description": "jsonb"}


def test_a_registry_that_is_down_does_not_keep_a_version_out_of_the_catalog(
    connection: Connection, topic_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    client = Registry(f"http://127.0.0.1:{free_ports(1)[0]}").client
    recorded = RecordedSchema(connection, topic_name, records=True, registry=client)
    schema = recorded.follow(BEFORE)
    assert entry_of(connection, topic_name).row_schema == schema
    assert "could not register the columns" in caplog.text


def test_the_dashboard_shows_the_columns_as_the_catalog_has_them_by_then(
    connection: Connection, tables: Tables, topic: str
) -> None:
    log_source, clock = KafkaLog(connection), ShiftedClock()
    write_entries(connection, log_source, {topic: CatalogEntry(value="row")})
    codec = RowCodec(partial(read_row_schema, connection, log_source, topic))
    state = SchemaState(ServedTable(Mount(tables.open(topic, value=codec))), clock)
    assert state.current().versions == []
    recorded = RecordedSchema(connection, topic, records=True)
    recorded.follow(BEFORE)
    clock.shift_s = ASK_AGAIN_S
    (shown,) = state.current().versions
    assert (shown.version, shown.kind) == (1, "JSON")
    assert json.loads(shown.text)["properties"]["c5"]["description"] == "numeric(12,2)"
