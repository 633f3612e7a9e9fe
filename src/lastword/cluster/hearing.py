"""Whether the brokers answer this instance. One that is deaf tells its peers, while it still can.

A network may carry requests to the brokers and lose the answers. The group keeps such a member
until its session expires, and its partitions cannot be written meanwhile.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from math import inf

from lastword.clock import Clock
from lastword.cluster.detector import STALLED_S
from lastword.errors import ConnectionFailedError, LastwordError

log = logging.getLogger(__name__)

ASK_S = 0.5
DEAF_S = 2.0
"""After this long without an answer an instance is deaf."""
GAP_S = 1.0
SURE_S = 10.0
"""After a gap of its own, an instance does not believe for this long that others are deaf.

The brokers were silent for all, and some notice later than others that they answer again."""
CALM_S = DEAF_S + ASK_S
"""A member that is not deaf this long after that gap is believed from then on: a silence that it
shared would have made it deaf by now."""
_CLOSE_S = 1.0


class Hearing:
    """Asks the brokers twice a second, on a thread of its own. Safe to use from any thread.

    ``ask`` waits for an answer and raises ConnectionFailedError if none comes. ``look`` must be
    called every 100 ms or so.
    """

    def __init__(self, ask: Callable[[], object], clock: Clock) -> None:
        self.deaf = False
        """Whether no broker has answered for ``DEAF_S``."""
        self._ask, self._clock = ask, clock
        self._heard_at = 0.0
        self._looked_at: float | None = None
        self._gap_at = -inf
        self._well: frozenset[str] = frozenset()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hearing", daemon=True)

    def start(self) -> None:
        """Start asking; returns at once."""
        self._thread.start()

    def close(self) -> None:
        """Stop, without waiting long for a broker that is silent; idempotent."""
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join(_CLOSE_S)

    def answered(self) -> None:
        """A broker has answered."""
        self._heard_at = self._clock.monotonic()

    def look(self) -> None:
        """Judge the time since the last answer."""
        now = self._clock.monotonic()
        if self._looked_at is None:  # silence counts from the first look on
            self._heard_at = self._looked_at = now
        if now - self._heard_at > GAP_S:
            self._gap_at, self._well = now, frozenset()
        if now - self._looked_at > STALLED_S:
            # This process was frozen: answers that arrived meanwhile have not been read yet.
            self._heard_at = now
        self._looked_at = now
        was_deaf, self.deaf = self.deaf, now - self._heard_at > DEAF_S
        if self.deaf and not was_deaf:
            log.warning("no broker has answered for %g s; telling the other instances", DEAF_S)

    def note_well(self, names: Collection[str]) -> None:
        """These members have just said that the brokers answer them."""
        if self._clock.monotonic() - self._gap_at >= CALM_S:
            self._well |= frozenset(names)

    def believes(self, name: str) -> bool:
        """Whether that member is deaf if it says so, and not just later than this instance to hear.

        A silence of the brokers makes all members deaf.
        """
        return name in self._well or self._clock.monotonic() - self._gap_at >= SURE_S

    def _run(self) -> None:
        while not self._closing.wait(ASK_S):
            try:
                self._ask()
            except ConnectionFailedError as error:
                log.debug("no broker answers: %s", error)
                continue
            except LastwordError as error:
                log.debug("a broker refuses: %s", error)
            self.answered()
