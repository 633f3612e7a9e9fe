"""Reads of a partitioned table of all kinds, each written down with what its answer says."""

from __future__ import annotations

import random
import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from lastword.errors import LastwordError
from lastword.table.entry import Answer, Entry
from lastword.table.scan import Scan
from lastword.table.table import Table

GET, GET_MANY, SCAN = "get", "get_many", "scan"
MANY_KEYS = 8
LOCAL = 0.1
"""The share of reads that do not avoid the partitions owned here."""
WHOLE = 0.25
"""The share of the reads of several keys that are about all partitions."""

Line = list[Any]
Keys = Mapping[int, Sequence[str]]
"""All keys, by their partition."""


class Reader:
    """Makes one read after the other, of a kind that the dice choose from ``kinds``.

    Most reads are about one partition, which another instance owns in most cases.
    """

    def __init__(
        self,
        table: Table,
        keys: Keys,
        owned: Callable[[], Collection[int]],
        kinds: Mapping[str, int],
        name: str,
    ) -> None:
        self._queries, self._owned = table.query, owned
        self._keys = {partition: sorted(of_it) for partition, of_it in keys.items()}
        self._place = {key: p for p, of_it in keys.items() for key in of_it}
        self._sorted = sorted(self._place)
        self._kinds, self._shares = list(kinds), list(kinds.values())
        self._dice = random.Random(name)

    def read(self) -> Line:
        """One read, as a line of the history: see ``ReadMade``."""
        (kind,) = self._dice.choices(self._kinds, self._shares)
        asked, partitions = self._asked(kind)
        began = time.monotonic()
        try:
            answer, found = self._answer(kind, asked, partitions)
        except LastwordError as error:
            failed = type(error).__name__
            return ["r", kind, began, time.monotonic(), failed, asked, partitions]
        ended = time.monotonic()
        rows = [(each.key, each.version.offset, each.value) for each in found]
        how_current = [dict(answer.position.offsets), answer.staleness_s, answer.answered_by]
        return ["r", kind, began, ended, "ok", asked, partitions, rows, *how_current]

    def _asked(self, kind: str) -> tuple[list[str], list[int]]:
        """The keys, or the bounds of a scan; and the partitions that are read."""
        whole = kind != GET and self._dice.random() < WHOLE
        partition = self._partition()
        keys = self._sorted if whole else self._keys[partition]
        if kind == SCAN:
            first = self._dice.randrange(len(keys) - MANY_KEYS)
            bounds = [keys[first], keys[first + MANY_KEYS]]
            return bounds, sorted(self._keys) if whole else [partition]
        asked = self._dice.sample(keys, 1 if kind == GET else MANY_KEYS)
        return asked, sorted({self._place[key] for key in asked})

    def _partition(self) -> int:
        elsewhere = sorted(self._keys.keys() - self._owned())
        if not elsewhere or self._dice.random() < LOCAL:
            return self._dice.choice(list(self._keys))
        return self._dice.choice(elsewhere)

    def _answer(
        self, kind: str, asked: list[str], partitions: list[int]
    ) -> tuple[Answer[Any] | Scan[Entry], Sequence[Entry]]:
        if kind == GET:
            one = self._queries.get(asked[0])
            return one, [] if one.value is None else [one.value]
        if kind == GET_MANY:
            many = self._queries.get_many(asked)
            return many, list(many.value.values())
        with self._queries.scan(*asked, partitions=partitions) as scan:
            return scan, list(scan)


def between(keys: Sequence[str], start: str, end: str) -> Sequence[str]:
    """Those of the sorted keys that a scan with these bounds covers."""
    return keys[bisect_left(keys, start) : bisect_left(keys, end)]
