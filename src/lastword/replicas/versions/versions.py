"""The past versions of a key: how they are kept, dropped and looked up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import msgspec

from lastword.durations import milliseconds
from lastword.errors import ConfigError
from lastword.rows import offset_of, timestamp_of

VERSIONS_MAX = 1_000
"""The limit for one key, in any period: each change of a key rewrites its past."""

DELETED_KEPT_MS = 86_400_000
"""How long the past of a deleted key stays where versions are kept by number."""


@dataclass(frozen=True)
class VersionLimit:
    """How many versions of a key are kept, and with a period for how long."""

    versions: int
    period_ms: int | None = None

    @property
    def deleted_ms(self) -> int:
        """How long a key that was deleted keeps its past."""
        return DELETED_KEPT_MS if self.period_ms is None else self.period_ms


def keep_of(spec: int | str | timedelta) -> VersionLimit:
    """From what a user writes: a number of versions, or a period such as ``"7d"``.

    >>> keep_of(5)
    VersionLimit(versions=5, period_ms=None)
    >>> keep_of("7d")
    VersionLimit(versions=1000, period_ms=604800000)
    """
    if isinstance(spec, str) and spec.isdecimal():
        spec = int(spec)
    if not isinstance(spec, int):
        return VersionLimit(VERSIONS_MAX, milliseconds(spec, what="the time to keep versions"))
    if not 1 <= spec <= VERSIONS_MAX:
        raise ConfigError(
            f"{spec} versions of a key cannot be kept",
            hint=f"give a number from 1 to {VERSIONS_MAX}, or a time such as '7d'",
        )
    return VersionLimit(spec)


@dataclass(frozen=True, slots=True)
class VersionCut:
    """A moment of one partition: the records below an offset, or up to a time."""

    below: int | None = None
    until_ms: int | None = None

    def sees(self, offset: int, seen_from_ms: int) -> bool:
        """Whether a version is part of that moment."""
        if self.below is not None:
            return offset < self.below
        return seen_from_ms <= (self.until_ms or 0)


class KeyVersion(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A version of a key; a row of None is a delete.

    ``seen_from_ms`` is the latest timestamp of the partition up to and including this record:
    the first moment whose state holds it, also where timestamps run backwards.
    """

    offset: int
    seen_from_ms: int
    row: bytes | None


class KeyPast(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The versions of a key before its current row, oldest first; of a deleted key with the delete.

    ``whole`` is False when there were earlier versions, which are no longer here.
    ``current_from_ms`` is set where the current row is not seen from its own timestamp on.
    """

    older: tuple[KeyVersion, ...] = ()
    whole: bool = True
    current_from_ms: int | None = None


NO_PAST = KeyPast()

encode_past = msgspec.msgpack.Encoder().encode
encode_version = msgspec.msgpack.Encoder().encode
decode_version = msgspec.msgpack.Decoder(KeyVersion).decode
_decode_past = msgspec.msgpack.Decoder(KeyPast).decode


def decode_past(data: bytes | None) -> KeyPast:
    """The past of a key; most keys have none."""
    return NO_PAST if data is None else _decode_past(data)


def versions_of(row: bytes | None, past: KeyPast) -> list[KeyVersion]:
    """Every version that is kept, the oldest first."""
    versions = list(past.older)
    if row is not None:
        seen_from_ms = past.current_from_ms
        if seen_from_ms is None:
            seen_from_ms = timestamp_of(row)
        versions.append(KeyVersion(offset_of(row), seen_from_ms, row))
    return versions


def at_cut(cut: VersionCut, row: bytes | None, past: KeyPast) -> KeyVersion | None:
    """The newest version that the moment holds; None when none of those kept is that old."""
    for version in reversed(versions_of(row, past)):
        if cut.sees(version.offset, version.seen_from_ms):
            return version
    return None


def past_after(
    row: bytes | None, past: KeyPast, changes: Sequence[KeyVersion], keep: VersionLimit, now_ms: int
) -> KeyPast:
    """The past once ``changes`` have happened to the key, the last of which is what it is now."""
    versions = versions_of(row, past)
    for change in changes:
        # What was absent before, and still is, has not changed.
        absent = versions[-1].row is None if versions else past.whole
        if change.row is not None or not absent:
            versions.append(change)
    if not versions:
        return past
    return _kept(versions, past.whole, keep, now_ms)


def is_in_order(version: KeyVersion) -> bool:
    """Whether a put is seen from its own timestamp on: nothing before it was later."""
    return version.row is not None and timestamp_of(version.row) == version.seen_from_ms


def past_with_time(row: bytes | None, past: KeyPast, keep: VersionLimit, now_ms: int) -> KeyPast:
    """The past without the versions that have become too old."""
    return _kept(versions_of(row, past), past.whole, keep, now_ms)


def _kept(versions: list[KeyVersion], whole: bool, keep: VersionLimit, now_ms: int) -> KeyPast:
    first = max(0, len(versions) - keep.versions)
    if keep.period_ms is not None:
        oldest_ms = now_ms - keep.period_ms
        # A version is of use until the one after it is there.
        while first + 1 < len(versions) and versions[first + 1].seen_from_ms <= oldest_ms:
            first += 1
    current = versions[-1]
    older = tuple(versions[first:] if current.row is None else versions[first:-1])
    late = current.row is not None and not is_in_order(current)
    return KeyPast(older, whole and first == 0, current.seen_from_ms if late else None)
