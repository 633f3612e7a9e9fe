"""Every read of a table, decoded, with the position it reflects, or as the bare value."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from lastword.codecs.base import key_bounds
from lastword.codecs.batches import encode_batch
from lastword.durations import Duration
from lastword.errors import ConfigError
from lastword.records import Position
from lastword.snapshots.travel.moments import Moment
from lastword.table.decoder import Decoder
from lastword.table.entry import Answer, Change, Entry
from lastword.table.partitioned.routing import make_routing
from lastword.table.raw import AT_LEAST_TIMEOUT_S, RawTable
from lastword.table.scan import Scan
from lastword.table.version_reads import VersionReads


class Queries:
    """Reads that say how current they are. Safe to use from any thread.

    Every method takes ``at_least``, a position to wait for (``timeout_s`` at most), and
    ``allow_stale``, to be answered before the partitions it needs have reached the end of their
    log. ``scan`` and ``count`` cover every partition of the topic, or the ``partitions`` named;
    they raise PartitionNotHereError for one that this process does not hold, and never skip it.
    """

    def __init__(self, raw: RawTable, decoder: Decoder) -> None:
        self._raw = raw
        self._decoder = decoder

    def within(
        self,
        *,
        route: bool = True,
        max_stale: Duration | None = None,
        max_lag: int | None = None,
    ) -> Queries:
        """The reads of a partitioned table, with other limits than those of the table.

        A copy that is staler than ``max_stale``, or more than ``max_lag`` offsets behind, does not
        answer; if none answers in time, the read raises TooStaleError. Without ``route``
        only this instance is asked: a partition that it does not keep raises PartitionNotHereError
        with the address of the owner.
        """
        routing = make_routing(route=route, max_stale=max_stale, max_lag=max_lag)
        return Queries(self._raw.within(routing), self._decoder)

    def get(
        self,
        key: Any,
        *,
        at_least: Position | None = None,
        timeout_s: float = AT_LEAST_TIMEOUT_S,
        allow_stale: bool = False,
    ) -> Answer[Entry | None]:
        """The key's entry, or None when there is no such key."""
        raw = self._decoder.key.encode(key)
        return self._raw.read(
            raw,
            self._decoder.entry,
            at_least=at_least,
            timeout_s=timeout_s,
            allow_stale=allow_stale,
        )

    def value(self, key: Any, default: Any) -> Any:
        """Only the key's value, at half the cost of a whole answer."""
        partition, row = self._raw.row(self._decoder.key.encode(key))
        return default if row is None else self._decoder.row_value(partition, row, default)

    def contains(
        self,
        key: Any,
        *,
        at_least: Position | None = None,
        timeout_s: float = AT_LEAST_TIMEOUT_S,
        allow_stale: bool = False,
    ) -> Answer[bool]:
        """Whether there is such a key."""
        answer = self.get(key, at_least=at_least, timeout_s=timeout_s, allow_stale=allow_stale)
        return answer.with_value(answer.value is not None)

    def get_many(
        self,
        keys: Iterable[Any],
        *,
        at_least: Position | None = None,
        timeout_s: float = AT_LEAST_TIMEOUT_S,
        allow_stale: bool = False,
    ) -> Answer[dict[Any, Entry]]:
        """The entries of those keys that exist, all as of one moment."""
        raws = encode_batch(self._decoder.key, list(keys))
        answer = self._raw.rows_of(
            raws, at_least=at_least, timeout_s=timeout_s, allow_stale=allow_stale
        )
        entry = self._decoder.entry
        shaped = (entry(each.partition, *pair) for each in answer.value for pair in each.pairs())
        return answer.with_value({each.key: each for each in shaped if each is not None})

    def values(self, keys: Iterable[Any]) -> dict[Any, Any]:
        """Only the values of those keys that exist, all as of one moment."""
        asked = list(keys)
        raws = encode_batch(self._decoder.key, asked)
        key_of = dict(zip(raws, asked, strict=True))
        values: dict[Any, Any] = {}
        for found in self._raw.rows(raws):
            for_raws, decoded = self._decoder.values(found)
            values.update(zip(map(key_of.__getitem__, for_raws), decoded, strict=True))
        return values

    def count(
        self,
        *,
        partitions: Collection[int] | None = None,
        at_least: Position | None = None,
        timeout_s: float = AT_LEAST_TIMEOUT_S,
        allow_stale: bool = False,
    ) -> Answer[int]:
        """The number of keys."""
        return self._raw.count(
            partitions=partitions, at_least=at_least, timeout_s=timeout_s, allow_stale=allow_stale
        )

    def scan(
        self,
        start: Any = None,
        end: Any = None,
        *,
        prefix: Any = None,
        reverse: bool = False,
        partitions: Collection[int] | None = None,
        at_least: Position | None = None,
        timeout_s: float = AT_LEAST_TIMEOUT_S,
        allow_stale: bool = False,
    ) -> Scan[Entry]:
        """Entries in key order: ``start <= key < end``, or those that begin with ``prefix``."""
        bounds = key_bounds(self._decoder.key, start, end, prefix)
        return self._raw.walk(
            bounds,
            self._decoder.entry,
            reverse=reverse,
            partitions=partitions,
            at_least=at_least,
            timeout_s=timeout_s,
            allow_stale=allow_stale,
        )

    def pairs(
        self, start: Any = None, end: Any = None, *, prefix: Any = None, reverse: bool = False
    ) -> Scan[tuple[Any, Any]]:
        """The same scan as plain keys and values."""
        bounds = key_bounds(self._decoder.key, start, end, prefix)
        return self._raw.walk(bounds, self._decoder.pair, reverse=reverse)

    def windows(
        self,
        key: Any,
        from_ms: int = 0,
        until_ms: int | None = None,
        *,
        at_least: Position | None = None,
        timeout_s: float = AT_LEAST_TIMEOUT_S,
        allow_stale: bool = False,
    ) -> Scan[Entry]:
        """The windows of one key that start at ``from_ms <= start < until_ms``, in time order."""
        codec = self._decoder.key
        if not hasattr(codec, "time_bounds"):
            raise ConfigError(
                f"a table with {codec.name} keys has no windows",
                hint="open it with key=windowed(...) or key=session(...)",
            )
        start, end = codec.time_bounds(key, from_ms, until_ms)

        def same_key(partition: int, raw: bytes, row: bytes) -> Entry | None:
            return self._decoder.entry(partition, raw, row) if len(raw) == len(start) else None

        home = (self._raw.keyspace.partition_of(start),)
        return self._raw.walk(
            (start, end),
            same_key,
            partitions=home,
            at_least=at_least,
            timeout_s=timeout_s,
            allow_stale=allow_stale,
        )

    # -- the past, as far as versions are kept here ------------------------------------------

    def entry_at(self, key: Any, moment: Moment) -> Entry | None:
        """The key's entry at that moment, or None if it was absent; exact, or MomentGoneError."""
        raw = self._decoder.key.encode(key)
        return self._past().read(raw, moment, self._decoder.entry)

    def versions(self, key: Any) -> list[Change]:
        """Every version of the key that is kept, the oldest first."""
        kept = self._past().records(self._decoder.key.encode(key))
        return [change for change in map(self._decoder.change, kept) if change is not None]

    def _past(self) -> VersionReads:
        if self._raw.past is None:
            raise ConfigError(
                f"the table of {self._raw.topic} keeps no versions",
                hint="open it with versions=5 or versions='7d', or ask as_of(moment)",
            )
        return self._raw.past
