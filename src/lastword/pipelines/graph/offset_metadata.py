"""What is committed with a source position: everything that a successor needs to continue."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class OffsetMetadata(msgspec.Struct, frozen=True):
    """The state at a committed position, stored in the metadata of the offset commit.

    ``changelogs`` has the end offset of each store's changelog at exactly this position.
    ``stream_times`` has the largest timestamps seen, by the first store of a node.
    """

    stream_times: dict[str, int]
    changelogs: dict[str, int]


def encode_metadata(metadata: OffsetMetadata) -> str:
    """Encode as the metadata text of an offset commit."""
    return msgspec.json.encode(metadata).decode()


def decode_metadata(text: str) -> OffsetMetadata | None:
    """Decode the metadata; None for a text that no pipeline wrote."""
    try:
        return msgspec.json.decode(text, type=OffsetMetadata)
    except msgspec.DecodeError:
        return None


def join_metadata(texts: Iterable[str]) -> OffsetMetadata:
    """Combine the metadata of one partition of all sources; texts of other programs are ignored.

    Each commit writes the same metadata to every source it moves. A source that had no records, or
    was not part of the pipeline then, has older metadata. Both kinds of numbers only grow.
    """
    stream_times: dict[str, int] = {}
    changelogs: dict[str, int] = {}
    for metadata in filter(None, map(decode_metadata, texts)):
        for known, found in (
            (stream_times, metadata.stream_times),
            (changelogs, metadata.changelogs),
        ):
            for name, number in found.items():
                known[name] = max(number, known.get(name, number))
    return OffsetMetadata(stream_times, changelogs)
