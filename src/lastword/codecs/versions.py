"""The versions of a schema: their texts, which one wrote a value, and the newest form of it."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from lastword.records import Headers


class ValueVersion(NamedTuple):
    """The version of a schema; with a registry, also the id of the schema.

    ``number`` is None for a schema that its subject does not have.
    """

    number: int | None
    schema_id: int | None = None


@runtime_checkable
class VersionedCodec(Protocol):
    """A codec whose values say which version of their schema wrote them."""

    @property
    def id_header(self) -> str | None:
        """As of every codec."""

    def joined(self, data: bytes, headers: Headers) -> bytes:
        """The bytes that the other methods take, for ``data`` of a record with these headers."""

    def written_with(self, data: bytes) -> ValueVersion:
        """The version that wrote ``data``; raises DecodeError."""

    def newest(self) -> ValueVersion:
        """The version that ``encode`` writes."""

    def renewed(self, data: bytes) -> bytes | None:
        """The value of ``data`` as ``encode`` writes it; None if no older version wrote it.

        Raises DecodeError and EncodeError for a value that the newest version cannot hold.
        """


class SchemaText(NamedTuple):
    """One version of a schema; ``kind`` is AVRO, JSON or PROTOBUF."""

    version: ValueVersion
    kind: str
    text: str


class ValueSchema(NamedTuple):
    """The known versions of a schema, oldest first; ``subject`` is its name in a registry."""

    subject: str | None
    versions: tuple[SchemaText, ...]


@runtime_checkable
class SchemaCodec(Protocol):
    """A codec that can show the schema of its values."""

    def value_schema(self) -> ValueSchema:
        """The schema; may ask a registry, and then raises RegistryError."""


def value_schema(codec: object) -> ValueSchema | None:
    """The schema of a codec's values; None for a codec without one."""
    return codec.value_schema() if isinstance(codec, SchemaCodec) else None
