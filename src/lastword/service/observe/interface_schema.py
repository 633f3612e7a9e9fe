"""The operations about the schema of a table's values."""

from __future__ import annotations

from lastword.service.api import routes_tables
from lastword.service.api.operations import Content, Operation
from lastword.service.http.auth import Access
from lastword.service.observe import shapes_schema

SCHEMA_OPERATIONS = (
    Operation(
        id="get_schema",
        method="GET",
        path="/tables/{table}/schema",
        serves="every table",
        summary="The schema of the values, its versions, and how many live keys hold which",
        access=Access.READ,
        handler=routes_tables.get_schema,
        answer=Content("the schema", shapes_schema.TableSchema),
        problems=(404, 503),
    ),
    Operation(
        id="count_schema_versions",
        method="POST",
        path="/tables/{table}/schema/count",
        serves="every table",
        summary="Count the live keys by schema version, by reading all values",
        access=Access.ADMIN,
        handler=routes_tables.count_schema_versions,
        answer=Content("the schema with a new count", shapes_schema.TableSchema),
        problems=(404, 503),
    ),
)
