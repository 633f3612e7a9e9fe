"""Writes the values of older schema versions again, as the newest version writes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from lastword.codecs.versions import VersionedCodec
from lastword.errors import ConflictError, DecodeError, EncodeError
from lastword.records import EXPIRES_HEADER, Headers, Write
from lastword.rows import offset_of
from lastword.table.entry import RawEntry
from lastword.table.raw import RawTable

BATCH_KEYS = 500
FAILURES_MAX = 100
_OWN_HEADERS = "lastword-"


@dataclass
class RewriteReport:
    """What a rewrite did. ``skipped`` keys were changed by somebody else meanwhile.

    ``failures`` has the first keys whose values the newest version cannot hold, each with the
    reason; ``failed`` counts all of them.
    """

    written: int = 0
    current: int = 0
    skipped: int = 0
    failed: int = 0
    failures: list[tuple[bytes, str]] = field(default_factory=list)

    def add_failure(self, key: bytes, why: str) -> None:
        """Count a key that cannot be rewritten."""
        self.failed += 1
        if len(self.failures) < FAILURES_MAX:
            self.failures.append((key, why))


def rewrite(
    raw: RawTable, codec: VersionedCodec, *, conditional: bool, dry_run: bool = False
) -> RewriteReport:
    """Write every value that an older version wrote, with its timestamp and headers.

    With ``conditional``, owners compare the version of each key first, so that no concurrent
    write is lost. Without it, a write between the last look at a key and the rewrite is lost.
    Raises the error of a write that failed for any other reason than a conflict.
    """
    done = RewriteReport()
    with raw.scan() as entries:
        outdated = _outdated(entries, codec, done)
        while batch := list(islice(outdated, BATCH_KEYS)):
            if dry_run:
                done.written += len(batch)
            else:
                _write(raw, batch, done, codec.id_header, conditional=conditional)
    return done


def _outdated(
    entries: Iterator[RawEntry], codec: VersionedCodec, done: RewriteReport
) -> Iterator[tuple[RawEntry, bytes]]:
    for entry in entries:
        try:
            value = codec.renewed(codec.joined(entry.value, entry.headers))
        except (DecodeError, EncodeError) as error:
            done.add_failure(entry.key, str(error))
            continue
        if value is None:
            done.current += 1
        else:
            yield entry, value


def _write(
    raw: RawTable,
    batch: Sequence[tuple[RawEntry, bytes]],
    done: RewriteReport,
    id_header: str | None,
    *,
    conditional: bool,
) -> None:
    writes = [
        Write(
            entry.key,
            value,
            _kept(entry.headers, id_header),
            entry.timestamp_ms,
            expected=entry.version if conditional else None,
        )
        for entry, value in batch
        if conditional or _unchanged(raw, entry)
    ]
    done.skipped += len(batch) - len(writes)
    for outcome in raw.put_many(writes):
        if isinstance(outcome.error, ConflictError):
            done.skipped += 1
        else:
            outcome.raise_or_version()
            done.written += 1


def _unchanged(raw: RawTable, entry: RawEntry) -> bool:
    _, row = raw.row(entry.key)
    return row is not None and offset_of(row) == entry.version.offset


def _kept(headers: Headers, id_header: str | None) -> Headers:
    """The user's headers and the expiry; what else Lastword put there was about that write.

    The new value has the id of its schema in front, so a header with the old one must go.
    """
    return tuple(
        (name, value)
        for name, value in headers
        if name == EXPIRES_HEADER or not (name == id_header or name.startswith(_OWN_HEADERS))
    )
