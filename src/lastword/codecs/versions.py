"""Which version of a schema wrote a value, and the same value as the newest version writes it."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable


class ValueVersion(NamedTuple):
    """The version of a schema; with a registry, also the id of the schema.

    ``number`` is None for a schema that its subject does not have.
    """

    number: int | None
    schema_id: int | None = None


@runtime_checkable
class VersionedCodec(Protocol):
    """A codec whose values say which version of their schema wrote them."""

    def written_with(self, data: bytes) -> ValueVersion:
        """The version that wrote ``data``; raises DecodeError."""

    def newest(self) -> ValueVersion:
        """The version that ``encode`` writes."""

    def renewed(self, data: bytes) -> bytes | None:
        """The value of ``data`` as ``encode`` writes it; None if no older version wrote it.

        Raises DecodeError and EncodeError for a value that the newest version cannot hold.
        """
