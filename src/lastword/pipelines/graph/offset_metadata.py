"""What is committed beside a source position: all that a successor needs to continue."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class OffsetMetadata(msgspec.Struct, frozen=True):
    """The state that belongs to a committed position, kept as the text of the offset commit.

    ``changelogs`` are the next offsets of the changelogs that reflect exactly this position, by
    store; ``stream_times`` the largest timestamps seen, by the first store of a node.
    """

    stream_times: dict[str, int]
    changelogs: dict[str, int]


def encode_metadata(metadata: OffsetMetadata) -> str:
    """As the text of an offset commit."""
    return msgspec.json.encode(metadata).decode()


def decode_metadata(text: str) -> OffsetMetadata | None:
    """The metadata; None for a text that no pipeline wrote."""
    try:
        return msgspec.json.decode(text, type=OffsetMetadata)
    except msgspec.DecodeError:
        return None


def join_metadata(texts: Iterable[str]) -> OffsetMetadata:
    """Combine the metadata of one partition of all sources; texts of others are ignored.

    Each commit writes the same metadata to every source it moves. A source that was quiet, or was
    not part of the pipeline then, has older metadata. Both kinds of numbers only grow.
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
