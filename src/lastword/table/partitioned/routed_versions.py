"""The past versions of a key, from whoever keeps its partition."""

from __future__ import annotations

from collections.abc import Callable

from lastword.replicas.versions.versions import (
    KeyVersion,
    VersionCut,
    decode_version,
    encode_version,
)
from lastword.table.partitioned.messages import PastWanted, ReadReply
from lastword.table.version_reads import LocalVersions

Asked = Callable[[PastWanted], list[ReadReply]]


class RoutedVersions:
    """A VersionSource that asks the owner first. Each copy answers exactly, or refuses.

    A copy that was built later may not reach back as far as another: so all are asked before the
    read is refused.
    """

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def version_at(self, partition: int, key: bytes, cut: VersionCut) -> KeyVersion | None:
        """The version that the key had at that moment; None if there was none."""
        wanted = PastWanted([partition], key, below=cut.below, until_ms=cut.until_ms)
        return next(iter(self._versions(wanted)), None)

    def kept(self, partition: int, key: bytes) -> list[KeyVersion]:
        """Every version of the key that the copy keeps, the oldest first."""
        return self._versions(PastWanted([partition], key))

    def _versions(self, wanted: PastWanted) -> list[KeyVersion]:
        (reply,) = self._asked(wanted)
        return [decode_version(version) for _, _, version in reply.rows]


def past_rows(
    wanted: PastWanted, kept: LocalVersions, timeout_s: float
) -> list[tuple[int, bytes, bytes]]:
    """The answer of an instance, as the rows of its reply."""
    (partition,), key = wanted.partitions, wanted.key
    if wanted.below is None and wanted.until_ms is None:
        found = kept.kept(partition, key)
    else:
        cut = VersionCut(wanted.below, wanted.until_ms)
        version = kept.version_at(partition, key, cut, timeout_s)
        found = [] if version is None else [version]
    return [(partition, key, encode_version(each)) for each in found]
