"""The OpenAPI document, made from the operations and the very types that validate requests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import msgspec

from lastword import __version__
from lastword.service.api.context import Context
from lastword.service.api.operations import Content, Operation
from lastword.service.api.served import ServedTable
from lastword.service.http.auth import Access
from lastword.service.http.problems import Problem

Document = dict[str, Any]

_REF = "#/components/schemas/{name}"
_ALWAYS = (400, 401, 403, 414, 421)
_CONVERTER = re.compile(r":\w+}")
_HEADERS: dict[str, Document] = {
    "ETag": {
        "description": "the version of the key, in quotes",
        "schema": {"type": "string", "pattern": '^"[0-9]+:[0-9]+"$'},
    },
    "Lastword-Contact-Age": {
        "description": "seconds since the cluster last answered",
        "schema": {"type": "string", "pattern": "^[0-9]+[.][0-9]{3}$"},
    },
    "Lastword-TTL": {
        "description": "how much longer the value lives, if it expires",
        "schema": {"type": "string", "pattern": "^[0-9]+ms$"},
    },
    "Lastword-Expires-At": {
        "description": "when the value expires, in milliseconds since 1970, if it does",
        "schema": {"type": "string", "pattern": "^[0-9]+$"},
    },
    "Lastword-Staleness": {
        "description": "of a partitioned table: everything acknowledged that many seconds ago "
        "is reflected",
        "schema": {"type": "string", "pattern": "^[0-9]+[.][0-9]{3}$"},
    },
    "Lastword-Answered-By": {
        "description": "of a partitioned table: the instances that answered, separated by commas",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9._,-]+$"},
    },
    "Lastword-Plan": {
        "description": "of a partitioned table: the number of the last plan; another number than "
        "before means that GET /tables/{table}/owners may have changed",
        "schema": {"type": "string", "pattern": "^[0-9]+$"},
    },
    "Lastword-Timestamp": {
        "description": "the record's time, in milliseconds since 1970",
        "schema": {"type": "string", "pattern": "^-?[0-9]+$"},
    },
}
_KEY: Document = {
    "name": "key",
    "in": "path",
    "required": True,
    "description": "the key as text, escaped; or its bytes in base64url with encoding=base64url",
    "schema": {"type": "string", "minLength": 1},
}
_WINDOW: Document = {
    "name": "window",
    "in": "path",
    "required": True,
    "description": "START of a window, or START-END of a session, in milliseconds since 1970",
    "schema": {"type": "string", "pattern": "^[0-9]{1,15}(-[0-9]{1,15})?$"},
}


def openapi_document(context: Context, operations: tuple[Operation, ...]) -> bytes:
    """The document for the tables that are served here."""
    writer = _Writer(context, operations)
    document: Document = {
        "openapi": "3.1.0",
        "info": {
            "title": "Lastword",
            "version": __version__,
            "description": "Compacted Kafka topics as tables. Errors are application/problem+json.",
        },
        "paths": writer.paths(),
        "components": {
            "schemas": writer.schemas(),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }
    return msgspec.json.encode(document)


class _Writer:
    """Writes the operations of one service down."""

    def __init__(self, context: Context, operations: tuple[Operation, ...]) -> None:
        self._context = context
        self._operations = operations
        contents = [content for each in operations for content in _contents(each)]
        kinds = [content.kind for content in contents if content.kind not in (None, bytes, str)]
        unique = list(dict.fromkeys([Problem, *kinds]))
        schemas, self._components = msgspec.json.schema_components(unique, ref_template=_REF)
        self._schemas = dict(zip(unique, schemas, strict=True))

    def schemas(self) -> Document:
        """Every type that is referred to."""
        return self._components

    def paths(self) -> Document:
        """Every operation under its path, and again under each mount."""
        paths: Document = {}
        for operation in self._operations:
            tables = [each for each in self._context.tables.values() if operation.covers(each)]
            if operation.serves == "service" or tables:
                self._add(paths, operation.path, operation, operation.id, tables)
            for served in tables:
                if served.path is not None and operation.mounted is not None:
                    name = f"{operation.id}_of_{served.name}"
                    self._add(paths, served.path + operation.mounted, operation, name, [])
        return paths

    def _add(
        self,
        paths: Document,
        path: str,
        operation: Operation,
        name: str,
        tables: list[ServedTable],
    ) -> None:
        plain = _CONVERTER.sub("}", path)
        paths.setdefault(plain, {})[operation.method.lower()] = {
            "operationId": name,
            "summary": operation.summary,
            "security": self._security(operation),
            "parameters": [
                *_path_parameters(plain, tables),
                *_parameters(operation.query, "query"),
                *_parameters(operation.headers, "header"),
            ],
            "responses": self._responses(operation),
            **self._request_body(operation),
        }

    def _security(self, operation: Operation) -> list[Document]:
        if operation.access is Access.NONE:
            return []
        bearer: list[Document] = [{"bearer": []}]
        anonymous = operation.access is Access.READ and not self._context.config.reads_need_token
        return [{}, *bearer] if anonymous else bearer

    def _request_body(self, operation: Operation) -> Document:
        if operation.body is None:
            return {}
        return {"requestBody": {"required": True, **self._content(operation.body)}}

    def _responses(self, operation: Operation) -> Document:
        responses: Document = {}
        for status in sorted({*_ALWAYS, *operation.problems}):
            responses[str(status)] = {
                "description": HTTPStatus(status).phrase,
                "content": {"application/problem+json": {"schema": self._schemas[Problem]}},
            }
        responses["200"] = self._content(operation.answer)
        for status, content in operation.also.items():
            responses[str(status)] = self._content(content)
        return responses

    def _content(self, content: Content) -> Document:
        described: Document = {"description": content.description}
        if content.headers:
            described["headers"] = {name: _HEADERS[name] for name in content.headers}
        if content.kind is not None:
            schema = {"type": "string"} if content.kind is str else self._schemas[content.kind]
            described["content"] = {content.media_type: {"schema": schema}}
        return described


def _contents(operation: Operation) -> Iterator[Content]:
    yield operation.answer
    yield from operation.also.values()
    if operation.body is not None:
        yield operation.body


def _path_parameters(path: str, tables: list[ServedTable]) -> Iterator[Document]:
    if "{table}" in path:
        names = [served.name for served in tables]
        schema = {"type": "string", "enum": names}
        yield {"name": "table", "in": "path", "required": True, "schema": schema}
    if "{key}" in path:
        yield _KEY
    if "{window}" in path:
        yield _WINDOW


def _parameters(kind: type[msgspec.Struct], place: str) -> Iterator[Document]:
    _, components = msgspec.json.schema_components([kind])
    shape = components[kind.__name__]
    for name, schema in shape["properties"].items():
        inner = dict(schema)
        yield {
            "name": name,
            "in": place,
            "required": name in shape["required"],
            "description": inner.pop("description", ""),
            "schema": inner,
        }
