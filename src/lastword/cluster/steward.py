"""The thread that evicts suspects, and writes plans while this instance is the leader."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from lastword.clock import Clock
from lastword.cluster.leadership import Leadership, Report, describe_members
from lastword.cluster.membership import GroupView, Membership
from lastword.cluster.plan import Plan
from lastword.errors import FencedError, LastwordError

log = logging.getLogger(__name__)

ROUND_S = 0.3
"""How often the leader lists the members of the group, unless something wakes it earlier."""
SETTLE_S = 0.3
"""How long the first leader of an application waits for instances that start with it."""
REGAIN_S = 2.0
"""How long a fenced leader waits before it asks the group whether it is the leader again."""

AskReports = Callable[[Mapping[str, str]], Mapping[str, Report]]
"""(addresses of the members) -> the reports of those that answer in time."""


class Steward:
    """Rounds of eviction and planning; ``wake`` starts the next one now."""

    def __init__(
        self,
        membership: Membership,
        leadership: Leadership,
        *,
        ask_reports: AskReports,
        evict_suspects: Callable[[], None],
        on_view: Callable[[Mapping[str, str] | None], None],
        on_written: Callable[[Plan, Plan | None], None],
        clock: Clock,
    ) -> None:
        self._membership, self._leadership = membership, leadership
        self._ask_reports, self._evict_suspects = ask_reports, evict_suspects
        self._on_view, self._on_written = on_view, on_written
        self._clock = clock
        self._term = 0
        self._not_before = 0.0
        self._news = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="steward", daemon=True)

    @property
    def leads(self) -> bool:
        """Whether this instance is the leader, as far as it knows."""
        return self._term > 0 and self._leadership.active

    def start(self) -> None:
        """Start the thread; returns at once."""
        self._thread.start()

    def wake(self) -> None:
        """Start the next round now, because something has changed."""
        self._news.set()

    def close(self) -> None:
        """Stop after the current round; idempotent."""
        self._closing = True
        self._news.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._leadership.give_up()

    def _run(self) -> None:
        while not self._closing:
            try:
                wait_s = self._round()
            except FencedError as error:
                log.warning("another instance is the leader now: %s", error)
                self._on_view(None)
                self._not_before, wait_s = self._clock.monotonic() + REGAIN_S, ROUND_S
            except LastwordError as error:
                log.warning("a round of eviction and planning failed: %s", error)
                wait_s = ROUND_S
            self._news.wait(wait_s)
            self._news.clear()

    def _round(self) -> float:
        """Do what is due; returns the seconds until the next round."""
        self._evict_suspects()
        term = self._membership.term
        if term == 0:
            if self._term:
                self._leadership.lose()
                self._on_view(None)
            self._term = 0
            return ROUND_S
        view = self._membership.look()
        if not self._may_lead(term, view):
            return ROUND_S
        if self._leadership.gain() and not self._is_known(view):
            self._not_before = self._clock.monotonic() + SETTLE_S
        wait_s = self._not_before - self._clock.monotonic()
        if wait_s > 0:
            return wait_s
        self._plan(view)
        return ROUND_S

    def _may_lead(self, term: int, view: GroupView) -> bool:
        if term != self._term:
            # Just became the leader: only now may it fence the others without asking the group.
            self._leadership.lose()
            self._term, self._not_before = term, 0.0
            return True
        if self._leadership.active:
            return True
        if self._clock.monotonic() < self._not_before or not view.i_lead:
            return False
        self._leadership.lose()
        return True

    def _is_known(self, view: GroupView) -> bool:
        """Whether the group has a member of the last plan; else all are just starting."""
        last = self._leadership.written
        return last is not None and not last.members.keys().isdisjoint(view.addresses)

    def _plan(self, view: GroupView) -> None:
        self._on_view(view.addresses)
        reports = self._ask_reports(view.addresses)
        before = self._leadership.written
        members = describe_members(view.addresses, reports, before, self._clock.now_ms())
        lags = {name: report.lags for name, report in reports.items()}
        plan = self._leadership.write(members, lags)
        if plan is not None:
            self._on_written(plan, before)
