"""Past states of tables, for ``?as_of=``: costly to make, so one at a time, and kept a while."""

from __future__ import annotations

import threading
from collections import OrderedDict

from lastword.clock import Clock
from lastword.service.limits import Limits
from lastword.service.problems import RefusedError
from lastword.service.served import ServedTable
from lastword.snapshots.moments import parse_moment
from lastword.table.past import PastTable

_KEPT_MAX = 8


class PastStates:
    """The states that were asked for last, all together within the limit of bytes.

    One is made at a time; whoever asks for the same meanwhile waits and gets it, too.
    """

    def __init__(self, limits: Limits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._kept: OrderedDict[tuple[str, str], PastTable] = OrderedDict()
        self._lock = threading.Lock()
        self._making = threading.Lock()

    def kept(self, served: ServedTable, as_of: str) -> PastTable | None:
        """The state if it is here already."""
        with self._lock:
            found = self._kept.get((served.name, as_of))
            if found is not None:
                self._kept.move_to_end((served.name, as_of))
            return found

    def make(self, served: ServedTable, as_of: str) -> PastTable:
        """The state, read from snapshots, history and the log; takes as long as the limit says."""
        deadline = self._clock.monotonic() + self._limits.as_of_s
        if not self._making.acquire(timeout=self._limits.as_of_s):
            raise RefusedError(
                503, "Busy", "other past states are being read", hint="try again in a moment"
            )
        try:
            found = self.kept(served, as_of)
            if found is None:
                found = served.table.as_of(
                    parse_moment(as_of), progress=lambda size: self._check(size, deadline)
                )
                self._keep((served.name, as_of), found)
            return found
        finally:
            self._making.release()

    def _check(self, size_bytes: int, deadline: float) -> None:
        hint = "read it where the time and the memory are: lastword get --as-of, or Table.as_of"
        limit = self._limits.as_of_bytes
        if size_bytes > limit:
            raise RefusedError(
                507,
                "PastStateTooLarge",
                f"it has more than {limit >> 20} MiB",
                hint=hint,
            )
        if self._clock.monotonic() > deadline:
            raise RefusedError(
                503, "PastStateTooSlow", f"it takes more than {self._limits.as_of_s:g} s", hint=hint
            )

    def _keep(self, name: tuple[str, str], state: PastTable) -> None:
        with self._lock:
            self._kept[name] = state
            size = sum(each.size_bytes for each in self._kept.values())
            while len(self._kept) > _KEPT_MAX or size > self._limits.as_of_bytes:
                _, oldest = self._kept.popitem(last=False)
                size -= oldest.size_bytes
