"""Counts the live keys of a table by the version of the schema that wrote their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lastword.codecs.base import Codec
from lastword.codecs.versions import ValueVersion, VersionedCodec
from lastword.errors import ConfigError, DecodeError
from lastword.table.entry import RawEntry
from lastword.table.raw import RawTable

_PROGRESS_KEYS = 1000


@dataclass
class VersionCount:
    """How many keys hold a version. ``version`` is None for values that state none."""

    version: ValueVersion | None
    keys: int
    newest: bool


def versioned(codec: Codec[object]) -> VersionedCodec:
    """The codec, if its values have versions; raises ConfigError."""
    if isinstance(codec, VersionedCodec):
        return codec
    raise ConfigError(
        f"{codec.name} values have no schema version",
        hint="values of a registry have one, and those of a class",
    )


def count_versions(
    raw: RawTable, codec: VersionedCodec, progress: Callable[[int], None] = lambda _keys: None
) -> list[VersionCount]:
    """The versions that live keys hold, oldest first. Reads the whole table once.

    ``progress`` is called now and then with the number of keys so far; it may raise to give up.
    """
    counts: dict[ValueVersion | None, int] = {}
    with raw.scan() as entries:
        for number, entry in enumerate(entries):
            if number % _PROGRESS_KEYS == 0:
                progress(number)
            version = version_of(codec, entry)
            counts[version] = counts.get(version, 0) + 1
    newest = codec.newest()
    return [
        VersionCount(version, counts[version], version == newest)
        for version in sorted(counts, key=_age)
    ]


def entries_of(raw: RawTable, codec: VersionedCodec, number: int) -> Iterator[RawEntry]:
    """The entries whose values that version wrote."""
    with raw.scan() as entries:
        for entry in entries:
            version = version_of(codec, entry)
            if version is not None and version.number == number:
                yield entry


def version_of(codec: VersionedCodec, entry: RawEntry) -> ValueVersion | None:
    """The version that wrote the entry; None for bytes that state none."""
    try:
        return codec.written_with(codec.joined(entry.value, entry.headers))
    except DecodeError:
        return None


def _age(version: ValueVersion | None) -> tuple[int, int]:
    if version is None:
        return -1, -1
    return version.number or 0, version.schema_id or 0
