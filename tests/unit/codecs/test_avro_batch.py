"""Avro documents that are decoded together, and those that do not fit between their neighbors."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import fastavro
import pytest

from lastword.codecs.registry import avro_batch
from lastword.codecs.registry.avro_batch import array_of, decode_together

NAMED = {
    "type": "record",
    "name": "User",
    "fields": [
        {"name": "name", "type": "string"},
        {"name": "photo", "type": "bytes"},
        {"name": "kind", "type": ["null", {"type": "enum", "name": "Kind", "symbols": ["A"]}]},
    ],
}
ADA = {"name": "Ada", "photo": b"\x00\xff", "kind": "A"}
BOB = {"name": "", "photo": b"", "kind": None}


def written(schema: Any, *values: Any) -> list[bytes]:
    found = []
    for value in values:
        out = BytesIO()
        fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
        found.append(out.getvalue())
    return found


def parsed(schema: Any) -> Any:
    return fastavro.parse_schema(array_of(schema))


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        (NAMED, [ADA, BOB]),
        ({**NAMED, "namespace": "people"}, [ADA]),
        (["null", NAMED], [None, ADA]),
        ("string", ["", "é"]),
        ("null", [None, None]),
        ({"type": "map", "values": {"type": "array", "items": NAMED}}, [{}, {"a": [ADA, BOB]}]),
    ],
)
@pytest.mark.parametrize("times", [1, 70, 700])
def test_values_of_any_schema_are_decoded_together(
    schema: Any, values: list[Any], times: int
) -> None:
    documents = written(schema, *values) * times
    assert decode_together(documents, parsed(schema), None) == values * times


def test_values_are_resolved_to_the_schema_that_reads() -> None:
    fields = [*NAMED["fields"][:1], {"name": "age", "type": "int", "default": -1}]
    reader = parsed({**NAMED, "fields": fields})
    found = decode_together(written(NAMED, ADA, BOB), parsed(NAMED), reader)
    assert found == [{"name": "Ada", "age": -1}, {"name": "", "age": -1}]


def test_documents_that_only_fit_together_are_refused() -> None:
    ada, bob = written(NAMED, ADA, BOB)
    assert decode_together([ada + bob, b""], parsed(NAMED), None) is None
    assert decode_together([ada[:-1], ada[-1:] + bob], parsed(NAMED), None) is None


@pytest.mark.parametrize("bad", [b"", b"\xff" * 20, b"\x02", b"\x06Ada\x00\x04"])
def test_a_document_that_does_not_fit_spoils_the_batch(bad: bytes) -> None:
    ada, bob = written(NAMED, ADA, BOB)
    for documents in ([bad], [bad, ada, bob], [ada, bad, bob], [ada, bob, bad]):
        assert decode_together(documents, parsed(NAMED), None) is None


def test_large_documents_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = written("string", "x" * 100)
    monkeypatch.setattr(avro_batch, "CHUNK_BYTES_MAX", 100)
    assert decode_together(documents, parsed("string"), None) is None
