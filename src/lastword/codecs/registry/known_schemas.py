"""The schemas that this process has fetched, in a bounded cache."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.codecs.registry.client import RegistryClient, Schema
from lastword.codecs.registry.wire_format import SchemaId
from lastword.errors import DecodeError

SCHEMAS_MAX = 1000
UNKNOWN_FOR_S = 10.0
REFERENCES_MAX = 100

Parse = Callable[[Schema, dict[str, Schema]], Any]
"""(schema, its references by name) -> the parsed schema; raises ValueError."""


class KnownSchemas:
    """Schemas by id, parsed. Safe to use from any thread."""

    def __init__(self, client: RegistryClient, clock: Clock = SYSTEM_CLOCK) -> None:
        self.client = client
        self._clock = clock
        self._lock = threading.Lock()
        self._parsed: OrderedDict[tuple[str, SchemaId], Any] = OrderedDict()
        self._unknown: OrderedDict[SchemaId, float] = OrderedDict()

    def parsed(self, kind: str, schema_id: SchemaId, parse: Parse) -> Any:
        """The result of ``parse`` for the schema with that id, which must be of that ``kind``.

        Raises DecodeError for an unknown id or an unusable schema, RegistryError if the schema is
        not cached and the registry does not answer.
        """
        key = (kind, schema_id)
        found = self._parsed.get(key)
        if found is not None:
            return found
        schema = self._fetch(schema_id)
        if schema.schema_type != kind:
            raise DecodeError(
                f"schema {schema_id} is {schema.schema_type}, not {kind}",
                hint="choose the codec of the schema: avro, json-schema or protobuf",
            )
        try:
            found = parse(schema, self.references(schema))
        except ValueError as error:
            raise DecodeError(
                f"schema {schema_id} cannot be used: {error}", hint="correct it in the registry"
            ) from error
        with self._lock:
            self._parsed[key] = found
            while len(self._parsed) > SCHEMAS_MAX:
                self._parsed.popitem(last=False)
        return found

    def references(self, schema: Schema) -> dict[str, Schema]:
        """All direct and indirect references of ``schema``, by name, dependencies first."""
        found: dict[str, Schema] = {}
        self._collect(schema, found, depth=0)
        return found

    def _collect(self, schema: Schema, found: dict[str, Schema], depth: int) -> None:
        if depth > REFERENCES_MAX or len(found) > REFERENCES_MAX:
            raise ValueError(f"it has more than {REFERENCES_MAX} references")
        for reference in schema.references:
            if reference.name in found:
                continue
            version = self.client.version(reference.subject, reference.version)
            if version is None:
                raise ValueError(f"{reference.subject} {reference.version} does not exist")
            self._collect(version.content, found, depth + 1)
            found[reference.name] = version.content

    def _fetch(self, schema_id: SchemaId) -> Schema:
        now = self._clock.monotonic()
        if now - self._unknown.get(schema_id, -UNKNOWN_FOR_S) < UNKNOWN_FOR_S:
            raise _no_such_schema(schema_id)
        schema = self.client.schema(schema_id)
        if schema is not None:
            return schema
        with self._lock:
            self._unknown[schema_id] = now
            while len(self._unknown) > SCHEMAS_MAX:
                self._unknown.popitem(last=False)
        raise _no_such_schema(schema_id)


def _no_such_schema(schema_id: SchemaId) -> DecodeError:
    return DecodeError(
        f"the registry has no schema {schema_id}",
        hint="the record was written with another registry, or without one",
    )
