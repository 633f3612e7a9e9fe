"""The document about the schema of a table's values."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from lastword.service.http.problems import Problem

Number = Annotated[int | None, Meta(description="null for a schema that its subject lacks")]
Id = Annotated[int | None, Meta(description="the id in the registry; null without one")]


class SchemaVersionText(Struct):
    """One version of the schema."""

    version: Number
    schema_id: Id
    kind: Annotated[str, Meta(description="AVRO, JSON or PROTOBUF")]
    text: str


class HeldVersion(Struct):
    """How many live keys hold values of one version."""

    version: Number
    schema_id: Id
    keys: int
    newest: Annotated[bool, Meta(description="whether it is the version that writes now")]


class VersionCounts(Struct):
    """A count of all live keys, and when it was made."""

    counted: Annotated[int, Meta(description="milliseconds since 1970")]
    seconds: float
    versions: list[HeldVersion]
    unreadable: Annotated[int, Meta(description="keys whose values state no version")]


class TableSchema(Struct):
    """The schema of a table's values, as last asked for."""

    codec: str
    subject: Annotated[str | None, Meta(description="its name in the registry")]
    versions: Annotated[list[SchemaVersionText], Meta(description="oldest first")]
    counts: Annotated[VersionCounts | None, Meta(description="null until keys were counted")]
    versioned: Annotated[bool, Meta(description="whether values say which version wrote them")]
    counting: Annotated[int | None, Meta(description="keys so far, while a count runs")]
    keys: Annotated[int, Meta(description="live keys now")]
    problem: Annotated[Problem | None, Meta(description="why the schema is not known")]
