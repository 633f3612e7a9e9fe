"""Reads that say how current they are, and who answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from lastword.client.calls.reads import LOOKUP_KEYS_MAX, Reads
from lastword.client.http.messages import HttpResponse
from lastword.client.steps import Steps
from lastword.durations import Duration, milliseconds
from lastword.errors import ConfigError
from lastword.records import Position
from lastword.table.entry import Answer, Entry


class Origin(NamedTuple):
    """How stale an answer of a partitioned table is, and who gave it; as in an Answer."""

    staleness_s: float | None = None
    answered_by: tuple[str, ...] = ()


def origin_of(response: HttpResponse, took_s: float) -> Origin:
    """What the headers say; the answer has aged since, ``took_s`` at most."""
    staleness = response.headers.get(b"lastword-staleness")
    if staleness is None:
        return Origin()
    names = response.headers.get(b"lastword-answered-by", b"").decode("latin-1")
    return Origin(float(staleness) + took_s, tuple(names.split(",")))


def limits_of(max_stale: Duration | None, max_lag: int | None) -> Mapping[str, str]:
    """The parameters of reads with these limits; raises ConfigError."""
    limits = {}
    if max_stale is not None:
        limits["max_stale"] = f"{milliseconds(max_stale, what='max_stale')}ms"
    if max_lag is not None:
        if max_lag < 0:
            raise ConfigError(f"max_lag={max_lag} is negative", hint="use 0 or more offsets")
        limits["max_lag"] = str(max_lag)
    return limits


class Answers:
    """The reads of one table as steps, each with how current it is."""

    def __init__(self, reads: Reads) -> None:
        self.reads = reads
        self._now = reads.patience.clock.monotonic

    def entry(self, key: Any) -> Steps[Answer[Entry | None]]:
        """The entry of a key."""
        if self.reads.forms.windowed:
            many = yield from self.entries([key])
            return many.with_value(many.value.get(key))
        asked_at = self._now()
        response = yield from self.reads.now(key)
        entry = self.reads.entry_in(response, key)
        return Answer(
            entry,
            Position() if entry is None else Position.after(entry.version),
            b"lastword-stale" in response.headers,
            float(response.headers.get(b"lastword-contact-age", b"0")),
            *origin_of(response, self._now() - asked_at),
        )

    def entries(self, keys: Iterable[Any]) -> Steps[Answer[dict[Any, Entry]]]:
        """The entries of those keys that exist; up to 1000 are as of one moment."""
        forms = self.reads.forms
        raws = [forms.raw_key(key) for key in keys]
        found: dict[Any, Entry] = {}
        parts: list[Answer[None]] = []
        while raws:
            asked, asked_at = raws[:LOOKUP_KEYS_MAX], self._now()
            page, response = yield from self.reads.lookup(asked)
            found |= {entry.key: entry for entry in map(forms.entry, page.items)}
            raws = raws[len(asked) - page.remaining :]
            parts.append(
                Answer(
                    None,
                    Position.parse(page.position),
                    page.stale,
                    page.contact_age_seconds,
                    *origin_of(response, self._now() - asked_at),
                )
            )
        return _together(parts).with_value(found)

    def count(self) -> Steps[Answer[int]]:
        """The number of keys."""
        asked_at = self._now()
        counted, response = yield from self.reads.count()
        return Answer(
            counted.count,
            Position.parse(counted.position),
            counted.stale,
            counted.contact_age_seconds,
            *origin_of(response, self._now() - asked_at),
        )


def _together(parts: list[Answer[None]]) -> Answer[None]:
    """How current several answers are together: as the least current of them."""
    offsets: dict[int, int] = {}
    for part in parts:
        for partition, offset in part.position.offsets.items():
            offsets[partition] = min(offset, offsets.get(partition, offset))
    ages = [part.staleness_s for part in parts if part.staleness_s is not None]
    return Answer(
        None,
        Position(offsets, parts[0].position.topic_id) if parts else Position(),
        any(part.stale for part in parts),
        max((part.contact_age_s for part in parts), default=0.0),
        max(ages, default=None),
        tuple(sorted({name for part in parts for name in part.answered_by})),
    )
