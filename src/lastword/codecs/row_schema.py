"""The columns of a table that mirrors a database table, with a version for every change of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

HISTORY_MAX = 20
"""How many changes an entry of the catalog keeps; older ones are dropped."""

TYPES = "$types"
"""The member of a row that names the types which JSON does not have."""

_INTEGERS = frozenset(("smallint", "integer", "bigint", "oid"))
_FLOATS = frozenset(("real", "double precision"))
_DOCUMENTS = frozenset(("json", "jsonb"))


class SourceColumn(msgspec.Struct, frozen=True):
    """One column: its type as the database writes it, and its number, which a rename keeps."""

    name: str
    type: str
    number: int


class SourceColumns(NamedTuple):
    """The columns of a table now; a table that was dropped and created again has another id."""

    table_id: int
    columns: tuple[SourceColumn, ...]


class SchemaChange(msgspec.Struct, frozen=True):
    """What became different with a version, in words, and when that was noticed (Unix ms)."""

    version: int
    at: int
    changes: tuple[str, ...]


class RowSchema(msgspec.Struct, frozen=True):
    """A version of the columns, and the changes that led to it, the newest last."""

    version: int
    table_id: int
    columns: tuple[SourceColumn, ...]
    history: tuple[SchemaChange, ...] = ()

    @classmethod
    def first(cls, found: SourceColumns) -> RowSchema:
        """Version 1."""
        return cls(1, *found)

    def describes(self, found: SourceColumns) -> bool:
        """Whether nothing has changed."""
        return (self.table_id, self.columns) == found

    def followed(self, found: SourceColumns, at_ms: int) -> RowSchema:
        """The version that has the columns as they are now; this one if no column changed."""
        same_table = found.table_id == self.table_id
        changes = tuple(_changes(self.columns, found.columns, same_table=same_table))
        if not changes:
            return msgspec.structs.replace(self, table_id=found.table_id, columns=found.columns)
        version = self.version + 1
        history = (*self.history, SchemaChange(version, at_ms, changes))[-HISTORY_MAX:]
        return RowSchema(version, *found, history)

    def json_schema(self) -> str:
        """The rows of a mirror as JSON Schema; each column says its type in the database.

        No column is required: a large value that was not sent may be missing from a row.
        """
        columns = {each.name: _property(each) for each in self.columns}
        document = {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": f"version {self.version}",
            "type": "object",
            "properties": columns | {TYPES: {"type": "object"}},
            "additionalProperties": False,
        }
        return msgspec.json.encode(document, order="deterministic").decode()


def _changes(
    old: Sequence[SourceColumn], new: Sequence[SourceColumn], *, same_table: bool
) -> Iterator[str]:
    """In words; columns of another table are the same if they have the same name."""
    known = {_identity(each, same_table): each for each in old}
    now = {_identity(each, same_table) for each in new}
    for identity, column in known.items():
        if identity not in now:
            yield f"dropped {column.name}"
    for column in new:
        before = known.get(_identity(column, same_table))
        if before is None:
            yield f"added {column.name} {column.type}"
            continue
        if before.name != column.name:
            yield f"renamed {before.name} to {column.name}"
        if before.type != column.type:
            yield f"changed {column.name} from {before.type} to {column.type}"


def _identity(column: SourceColumn, same_table: bool) -> int | str:
    return column.number if same_table else column.name


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
